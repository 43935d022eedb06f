"""The lists of families that an order search chooses from; they grow while it runs."""

from collections.abc import Sequence

import numpy as np

from skbn._core.arrays import Booleans, Floats, Integers
from skbn._orders.list_kernels import BLOCK, ListArrays, find_dominated

_WORD = 64


class FamilyLists:
    """For each column as a child, sets of parents and their scores, best first.

    `missing`: the score of a family without parents that stands last in each list, for orders that
        no listed family of the child fits
    """

    def __init__(self, m: int, missing: float) -> None:
        self.m = m
        self.missing = missing
        self._columns: list[list[int]] = [[] for _ in range(m)]
        self._sets = [np.zeros((0, 1), dtype=np.int64) for _ in range(m)]
        self._scores = [np.zeros(0) for _ in range(m)]
        self._firsts: list[Integers] = [np.zeros(0, dtype=np.int64) for _ in range(m)]

    @property
    def n_families(self) -> int:
        """How many families all lists have."""
        return sum(map(len, self._scores))

    def add(self, child: int, columns: Sequence[int], sets: Booleans, scores: Floats) -> None:
        """Add families of a child.

        `sets`: (n, k), which of the columns are parents
        `scores`: (n,)
        """
        known = self._columns[child]
        bit_of = {y: bit for bit, y in enumerate(known)}
        for y in columns:
            if y not in bit_of:
                bit_of[y] = len(known)
                known.append(y)
        n_words, old = max(1, -(-len(known) // _WORD)), self._sets[child]
        every = np.zeros((len(old) + len(scores), n_words), dtype=np.int64)
        every[: len(old), : old.shape[1]] = old
        added = every[len(old) :].view(np.uint64)
        for y, is_parent in zip(columns, sets.T, strict=True):
            word, bit = divmod(bit_of[y], _WORD)
            added[:, word] |= is_parent.astype(np.uint64) << np.uint64(bit)
        every_score = np.concatenate([self._scores[child], scores])
        best_first = np.argsort(-every_score, kind="stable")
        every, every_score = every[best_first], every_score[best_first]
        is_dominated = np.zeros(len(every), dtype=bool)
        find_dominated(every, best_first >= len(old), is_dominated)
        kept = ~is_dominated
        self._sets[child], self._scores[child] = every[kept], every_score[kept]
        self._firsts[child] = _first_with_bit(self._sets[child], len(known))

    def arrays(self, replaced: ListArrays | None = None) -> ListArrays:
        """Return the lists as arrays for kernels.

        `replaced`: earlier arrays, which are not used any more: those of m x m are written over
        """
        n_words = max(sets.shape[1] for sets in self._sets)
        starts = np.zeros(self.m + 1, dtype=np.int64)
        sizes = [len(scores) // BLOCK * BLOCK + BLOCK for scores in self._scores]
        np.cumsum(sizes, out=starts[1:])
        sets = np.zeros((starts[-1], n_words), dtype=np.int64)
        scores = np.full(starts[-1], self.missing)
        columns = np.full((self.m, _WORD * n_words), -1, dtype=np.int16)
        if replaced is None:
            bits, bits_in = (np.empty((self.m, self.m), dtype=np.int16) for _ in range(2))
            firsts, firsts_in = (np.empty((self.m, self.m), dtype=np.int32) for _ in range(2))
        else:
            *_, bits, bits_in, firsts, firsts_in = replaced
        bits.fill(-1)
        firsts.fill(0)
        for x, start in enumerate(starts[:-1]):
            n, width = self._sets[x].shape
            sets[start : start + n, :width] = self._sets[x]
            scores[start : start + n] = self._scores[x]
            columns[x, : len(self._columns[x])] = self._columns[x]
            bits[x, self._columns[x]] = np.arange(len(self._columns[x]))
            firsts[x, self._columns[x]] = start + self._firsts[x]
        bits_in[:], firsts_in[:] = bits.T, firsts.T
        common = np.bitwise_and.reduce(sets.reshape(-1, BLOCK, n_words), axis=1)
        return ListArrays(starts, sets, common, scores, columns, bits, bits_in, firsts, firsts_in)

    def parents(self, lists: ListArrays, child: int, family: int) -> list[int]:
        """Return the parents in one of the families of `arrays`, ascending."""
        columns, words = lists.columns[child], lists.sets[family].astype(np.uint64)
        return sorted(
            int(columns[bit])
            for bit in np.flatnonzero(columns >= 0).tolist()
            if int(words[bit // _WORD]) >> bit % _WORD & 1
        )


def _first_with_bit(sets: Integers, n_bits: int) -> Integers:
    """Return the index of the first set that has each bit."""
    if len(sets) == 0:
        return np.zeros(n_bits, dtype=np.int64)
    bits = np.unpackbits(sets.astype("<i8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_bits].argmax(axis=0)
