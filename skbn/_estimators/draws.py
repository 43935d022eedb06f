"""Which rows a resample draws: single rows, groups or blocks of them, from all or within labels."""

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
        The rows, or the numbers of the groups, to draw from. Each of these arrays is drawn from on
        its own.
    n_drawn : list of int
        How many to draw from each.
    fraction : float
        How many are drawn, as a share of them.
    replace : bool
    block_length : int
        How many consecutive rows of a stratum are drawn at once. If not 1, `replace` is True, there
        is one stratum, and its rows are series by series.
    seeds : list of numpy.random.SeedSequence
        One for each resample, so that no resample depends on which were drawn before.
    groups : list of arrays of int, optional
        The rows of each group, if whole groups are drawn.
    starts : ndarray of int, optional
        The places in the stratum at which a block may begin.
    """

    strata: list[Integers]
    n_drawn: list[int]
    fraction: float
    replace: bool
    block_length: int
    seeds: list[np.random.SeedSequence]
    groups: list[Integers] | None = None
    starts: Integers | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are to draw from."""
        return sum(map(len, self.strata if self.groups is None else self.groups))

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
        strata = zip(self.strata, self.n_drawn, strict=True)
        drawn = np.concatenate([self._drawn_from(units, n, rng) for units, n in strata])
        if self.groups is None:
            return drawn
        return np.concatenate([self.groups[group] for group in drawn])

    def _drawn_from(self, rows: Integers, n_drawn: int, rng: np.random.Generator) -> Integers:
        if self.block_length == 1:
            return rng.choice(rows, n_drawn, replace=self.replace)
        assert self.starts is not None
        n_blocks = -(-n_drawn // self.block_length)
        starts = self.starts[rng.integers(len(self.starts), size=n_blocks)]
        blocks = starts[:, np.newaxis] + np.arange(self.block_length)
        return rows[blocks.ravel()[:n_drawn]]


def plan_draws(learner: Any, sample: Sample, stratify: Any = None, groups: Any = None) -> Draws:
    """Return how to draw resamples of a sample, by the parameters of a `BootstrapBNLearner`.

    Raises
    ------
    ValueError, TypeError
        If resamples would have too few rows, or all the same; if options exclude each other; if
        `stratify` or `groups` are not a label for each row.
    """
    fraction, replace = learner.sample_fraction, learner.replace
    block_length = learner.block_length
    if block_length is not None:
        _check_blocks(sample, block_length, replace, stratify)
    strata, of_groups, starts = _strata(sample, stratify), None, None
    if block_length is not None:
        series = {None: strata[None]} if groups is None else _strata(sample, groups, "groups")
        strata = {None: np.concatenate([*series.values()])}
        starts = _starts(series, block_length)
    elif groups is not None:
        of_group = _strata(sample, groups, "groups")
        strata, of_groups = _strata_of_groups(of_group, strata), [*of_group.values()]
    what_is_drawn = "rows" if of_groups is None else "groups"
    n_rows = sum(map(len, strata.values()))
    n_drawn = {label: round(fraction * len(rows)) for label, rows in strata.items()}
    what = f"sample_fraction={readable_value(fraction)} of {n_rows} {what_is_drawn}"
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
            f"{what_is_drawn}. Set a smaller sample_fraction, such as 0.5, or replace=True."
        )
    entropy = int.from_bytes(random_generator(learner.random_state).bytes(16), "little")
    seeds = np.random.SeedSequence(entropy).spawn(learner.n_resamples)
    drawn = [*n_drawn.values()]
    settings = fraction, replace, block_length or 1, seeds, of_groups, starts
    return Draws([*strata.values()], drawn, *settings)


def _strata_of_groups(
    of_group: dict[Any, Integers], strata: dict[Any, Integers]
) -> dict[Any, Integers]:
    """Return the numbers of the groups of each label, or raise if a group has several labels."""
    if len(of_group) < 2:
        raise ValueError(
            f"All rows are of the group {readable_value(next(iter(of_group)))}, so that all "
            "resamples would be the same rows. Leave groups out; for a time series, set "
            "block_length."
        )
    found: dict[Any, Integers] = {}
    for label, rows in strata.items():
        parts = [np.isin(own, rows) for own in of_group.values()]
        for group, part in zip(of_group, parts, strict=True):
            if part.any() and not part.all():
                raise ValueError(
                    f"Group {readable_value(group)} has rows that stratify labels "
                    f"{readable_value(label)}, and others. Whole groups are drawn, so give all "
                    "rows of a group the same label."
                )
        found[label] = np.flatnonzero([part.all() for part in parts])
    return found


def _starts(series: dict[Any, Integers], block_length: int) -> Integers:
    """Return where a block may begin in rows that are series by series."""
    starts, before = [], 0
    for name, rows in series.items():
        if len(rows) < block_length:
            raise ValueError(
                f"block_length={block_length} takes more rows than the {len(rows)} of group "
                f"{readable_value(name)}. Set a smaller block_length, or leave it out: whole "
                "groups are drawn then."
            )
        starts.append(before + np.arange(len(rows) - block_length + 1))
        before += len(rows)
    return np.concatenate(starts)


def _strata(sample: Sample, stratify: Any, parameter: str = "stratify") -> dict[Any, Integers]:
    """Return the rows of each label, or all rows, without rows of weight 0."""
    n_rows = sample.shape[0]
    rows = np.arange(n_rows) if sample.weight is None else np.flatnonzero(sample.weight)
    if not rows.size:
        raise no_weight()
    if stratify is None:
        return {None: rows}
    number, labels = read_row_groups(stratify, sample.labels, n_rows, parameter)
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
