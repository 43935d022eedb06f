"""Which rows a resample draws: single rows or blocks of them, from all rows or within labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skbn._core.arrays import Floats, Integers
from skbn._core.estimator import random_generator
from skbn._core.text import readable_value
from skbn._data.row_values import no_weight, read_row_groups
from skbn._data.sample import Sample


@dataclass(frozen=True)
class Draws:
    """How the rows of resamples are drawn.

    Parameters
    ----------
    strata : list of arrays of int
        The rows to draw from. Each of these arrays is drawn from on its own.
    n_drawn : list of int
        How many rows to draw from each.
    fraction : float
        How many rows are drawn, as a share of them.
    replace : bool
    block_length : int
        How many consecutive rows of a stratum are drawn at once. If not 1, `replace` is True.
    seeds : list of numpy.random.SeedSequence
        One for each resample, so that no resample depends on which were drawn before.
    """

    strata: list[Integers]
    n_drawn: list[int]
    fraction: float
    replace: bool
    block_length: int
    seeds: list[np.random.SeedSequence]

    def weight(self, number: int, sample: Sample) -> Floats:
        """Return how often each row was drawn for a resample, times its weight in the sample."""
        rows = self.rows(number)
        weight = np.bincount(rows, minlength=sample.shape[0]).astype(np.float64)
        if sample.weight is not None:
            weight *= sample.weight
        weight.setflags(write=False)
        return weight

    def rows(self, number: int) -> Integers:
        """Return the rows that were drawn for a resample, stratum by stratum."""
        rng = np.random.default_rng(self.seeds[number])
        drawn = zip(self.strata, self.n_drawn, strict=True)
        return np.concatenate([self._drawn_from(rows, n, rng) for rows, n in drawn])

    def _drawn_from(self, rows: Integers, n_drawn: int, rng: np.random.Generator) -> Integers:
        if self.block_length == 1:
            return rng.choice(rows, n_drawn, replace=self.replace)
        n_blocks = -(-n_drawn // self.block_length)
        starts = rng.integers(len(rows) - self.block_length + 1, size=n_blocks)
        blocks = starts[:, np.newaxis] + np.arange(self.block_length)
        return rows[blocks.ravel()[:n_drawn]]


def plan_draws(
    sample: Sample,
    n_resamples: int,
    *,
    fraction: float,
    replace: bool,
    block_length: int | None,
    stratify: Any,
    random_state: Any,
) -> Draws:
    """Return how to draw resamples of a sample, as `BootstrapBNLearner` describes them.

    Raises
    ------
    ValueError, TypeError
        If resamples would have too few rows, or all the same; if options exclude each other; if
        `stratify` is not a label for each row.
    """
    if block_length is not None:
        _check_blocks(sample, block_length, replace, stratify)
    strata = _strata(sample, stratify)
    n_rows = sum(map(len, strata.values()))
    n_drawn = {label: round(fraction * len(rows)) for label, rows in strata.items()}
    what = f"sample_fraction={readable_value(fraction)} of {n_rows} rows"
    if sum(n_drawn.values()) < 2:
        raise ValueError(f"{what} draws fewer than two. Set a larger sample_fraction.")
    for label, n in n_drawn.items():
        if not n:
            raise ValueError(
                f"{what} draws none of those that stratify labels {readable_value(label)}, which "
                f"are {len(strata[label])}. Set a larger sample_fraction."
            )
    if not replace and sum(n_drawn.values()) == n_rows:
        raise ValueError(
            f"{what} draws all of them, so that without replacement all resamples are the same "
            "rows. Set a smaller sample_fraction, such as 0.5, or replace=True."
        )
    entropy = int.from_bytes(random_generator(random_state).bytes(16), "little")
    seeds = np.random.SeedSequence(entropy).spawn(n_resamples)
    drawn = [*n_drawn.values()]
    return Draws([*strata.values()], drawn, fraction, replace, block_length or 1, seeds)


def _strata(sample: Sample, stratify: Any) -> dict[Any, Integers]:
    """Return the rows of each label, or all rows, without those of weight 0."""
    n_rows = sample.shape[0]
    rows = np.arange(n_rows) if sample.weight is None else np.flatnonzero(sample.weight)
    if not rows.size:
        raise no_weight()
    if stratify is None:
        return {None: rows}
    number, labels = read_row_groups(stratify, sample.labels, n_rows, "stratify")
    of_label = {label: rows[number[rows] == k] for k, label in enumerate(labels)}
    return {label: chosen for label, chosen in of_label.items() if chosen.size}


def _check_blocks(sample: Sample, block_length: int, replace: bool, stratify: Any) -> None:
    """Raise unless rows can be drawn in blocks of this length."""
    n_rows = sample.shape[0]
    if stratify is not None:
        raise ValueError(
            "block_length draws rows that follow each other, and stratify rows of one label, which "
            "need not. Give one of them."
        )
    if not replace:
        raise ValueError(
            "block_length draws blocks that may overlap, and replace=False draws each row once. "
            "Set replace=True."
        )
    if block_length >= n_rows:
        raise ValueError(
            f"block_length must be less than the number of rows, {n_rows}, because all resamples "
            f"would be the same rows; got {block_length}. By the rule of thumb it is "
            f"{round(n_rows ** (1 / 3))}."
        )
    if sample.weight is not None and not sample.weight.all():
        raise ValueError(
            "block_length draws rows that follow each other, and sample_weight is 0 for row "
            f"{int(np.argmin(sample.weight))}. Leave out the rows of weight 0 if those around them "
            "may count as neighbours."
        )
