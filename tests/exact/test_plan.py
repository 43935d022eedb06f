"""Plans: what they choose, what they take, and what their progress adds up to."""

import re
import shutil
import tracemalloc
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from agreement import raises
from families_of_factors import network_of, random_case

from skbn._core.resources import Progress
from skbn._exact.plan import (
    SearchPlan,
    TooLargeError,
    plan_on_workers,
    plan_search,
    space_of_scratch,
)
from skbn._exact.recurrences import exact_search
from skbn._scores.families import SmallFamilies

Usage = namedtuple("Usage", "total used free")
PLENTY = 1 << 50


@pytest.fixture
def folder(monkeypatch):
    """A folder with a lot of space, which nothing writes to."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(PLENTY, 0, PLENTY))
    return "a folder"


def least_bytes(m, **options):
    with pytest.raises(TooLargeError) as caught:
        plan_search(m, 0, **options)
    return caught.value.needed


# What is chosen


@pytest.mark.parametrize("m", [18, 22, 26, 30, 32])
def test_memory_then_windows_then_a_file(m, folder):
    in_memory = least_bytes(m, in_memory=True)
    windows = least_bytes(m)
    with_file = least_bytes(m, scratch=folder)
    assert with_file < windows < in_memory
    fastest = plan_search(m, PLENTY)
    assert fastest.n_varying is None
    for n_bytes in (fastest.n_bytes, PLENTY):
        assert plan_search(m, n_bytes, scratch=folder) == fastest
    for n_bytes in (in_memory, fastest.n_bytes - 1):
        plan = plan_search(m, n_bytes, scratch=folder)
        assert plan.work <= plan_search(m, n_bytes, in_memory=True).work
        assert plan.n_bytes <= n_bytes
    for n_bytes in (in_memory - 1, windows):
        plan = plan_search(m, n_bytes)
        assert plan.n_varying is not None
        assert plan.scratch is None
    plan = plan_search(m, windows - 1, scratch=folder)
    assert plan.scratch == folder
    for n_bytes in (with_file, windows - 1, windows, in_memory - 1):
        assert plan_search(m, n_bytes, scratch=folder).n_bytes <= n_bytes
    for n_bytes, options in [
        (in_memory - 1, {"in_memory": True, "scratch": folder}),
        (windows - 1, {}),
        (with_file - 1, {"scratch": folder}),
    ]:
        raises(f"over {m} columns needs", plan_search, m, n_bytes, kind=TooLargeError, **options)


def test_more_memory_never_takes_longer(folder):
    m = 20
    least, most = least_bytes(m, scratch=folder), plan_search(m, PLENTY).n_bytes
    limits = np.linspace(least, most, 40).astype(int)
    work = [plan_search(m, int(n_bytes), scratch=folder).work for n_bytes in limits]
    assert work == sorted(work, reverse=True)
    assert len(set(work)) > 4


def test_a_folder_without_room_is_not_taken(monkeypatch):
    m = 20
    windows = least_bytes(m)
    for missing in (0, 1):
        usage = Usage(PLENTY, 0, (8 << m) - missing)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        if missing:
            with pytest.raises(TooLargeError, match=r"scratch='f' has .* of the 8\.[34]"):
                plan_search(m, windows - 1, scratch="f")
        else:
            assert plan_search(m, windows - 1, scratch="f").scratch == "f"


@pytest.mark.parametrize("m", [18, 24, 30])
def test_the_space_that_a_refusal_names_is_enough(m):
    least = least_bytes(m)
    assert space_of_scratch(m, least - 1) == 8 << m
    assert space_of_scratch(m, 1000) is None
    assert space_of_scratch(14, PLENTY) is None  # of few columns, nothing is walked again


def test_lists_of_families_have_no_windows(folder):
    n_numbers = SmallFamilies(20, 2).numbers_while_listed
    in_memory = least_bytes(20, n_log_determinants=n_numbers)
    plan = plan_search(20, in_memory - 1, n_log_determinants=n_numbers, scratch=folder)
    assert plan.scratch == folder
    assert plan.n_varying is None
    with pytest.raises(TooLargeError, match="needs"):
        plan_search(20, in_memory - 1, n_log_determinants=n_numbers)


def test_workers_share_the_best_scores():
    m, n_bytes = 24, 1 << 27
    few, many = (plan_on_workers(m, 0, n, n_bytes, "are there", PLENTY) for n in (2, 50))
    assert few.n_workers == 2
    assert many.n_workers == 50
    for plan in (few, many):
        assert plan.n_varying is not None
        assert plan.scratch is None
        assert plan.n_bytes <= n_bytes
    alone = replace(few, n_workers=1)
    assert alone.work_of_workers == alone.work
    assert few.work / 2 <= few.work_of_workers < few.work
    message = r"its part of the 2\*\*24 states, and 1.* MB are there on each of 2 workers"
    raises(message, plan_on_workers, m, 0, 2, 1_000_000, "are there", PLENTY, kind=TooLargeError)


def test_the_window_of_the_walk_back_fits_in_this_process():
    large = plan_on_workers(24, 0, 2, PLENTY, "", PLENTY)
    small = plan_on_workers(24, 0, 2, PLENTY, "", 8 * large.window_size - 1)
    assert small.window_size < large.window_size


def test_plans_in_words(folder):
    assert re.fullmatch(r"20 columns in 2 parts: [\d.]+ MB of memory", str(SearchPlan(20, 1)))
    plan = plan_search(24, least_bytes(24, scratch=folder), scratch=folder)
    assert re.fullmatch(
        r"24 columns in 256 parts: [\d.]+ MB of memory and 134\.\d MB of a folder", str(plan)
    )
    assert str(replace(plan, scratch=None, n_workers=3)).endswith(
        "MB of memory on each of 3 workers"
    )


# What is taken


@pytest.mark.parametrize(
    ("n_outer", "n_varying", "is_file"),
    [(1, 1, False), (2, 2, True), pytest.param(3, 3, True, marks=pytest.mark.slow)],
)
def test_the_memory_and_the_progress_are_those_of_the_plan(n_outer, n_varying, is_file, tmp_path):
    case = random_case(17)
    plan, _ = case.walked(n_outer, n_varying, tmp_path if is_file else None)
    network_of(*random_case(15).walked(1, 1))  # compiled
    told = []
    progress = Progress(plan.work, [lambda percent, *_: told.append(percent)])
    _, families = case.walked(n_outer, n_varying, tmp_path if is_file else None)
    tracemalloc.start()
    exact_search(families, plan, 1, progress)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_blocks = 16 * min(8, 1 << n_outer) << plan.block_bits
    assert 0.97 * plan.n_bytes < peak < 1.03 * (plan.n_bytes + of_blocks) + 700_000
    assert progress._done == pytest.approx(plan.work, rel=1e-9)
    assert told[-1] == 100


@pytest.mark.parametrize("n_outer", [1, 4])
def test_the_work_is_that_of_all_slabs(n_outer):
    for options in ({}, {"n_varying": 1}, {"n_varying": 1, "scratch": "a folder"}):
        plan = SearchPlan(18, n_outer, **options)
        of_slabs = sum(sum(plan.slab_works[fixed.bit_count()]) for fixed in range(1 << n_outer))
        assert plan.work == of_slabs + plan.work_of_walk_back
        assert (plan.work_of_walk_back > 0) == (plan.n_varying is not None)
