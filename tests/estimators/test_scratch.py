"""Best scores in a folder: the same network with less memory, and words where that fails."""

import itertools
import re
import shutil
from collections import namedtuple

import pytest
from agreement import assert_same_bits, raises

from skbn import GaussianBNLearner, LocalScoreTransformer
from skbn._exact import recurrences
from skbn.datasets import make_gaussian_network

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def stores(monkeypatch):
    """The names of the stores that searches open."""
    opened = []

    def open_and_note(plan, threads):
        opened.append("memory" if plan.scratch is None else "file")
        return open_store(plan, threads)

    open_store = recurrences.open_store
    monkeypatch.setattr(recurrences, "open_store", open_and_note)
    return opened


def table(m, n=150):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


def check_equal(found, expected):
    assert_same_bits(found, expected)
    assert found.is_optimal_
    assert found.score_bound_ == expected.score_bound_


# The least memory: 3.8 MB in windows and 2 MB with a file for 18 columns, 10.4 and 2.2 MB for 20.
@pytest.mark.parametrize(
    ("m", "max_memory"),
    [
        (18, 2_500_000),
        pytest.param(18, 2_000_000, marks=pytest.mark.slow),
        pytest.param(20, 5_000_000, marks=pytest.mark.slow),
    ],
)
def test_a_file_changes_no_bit(m, max_memory, stores, tmp_path):
    """And one is taken only where memory is not enough."""
    rows = table(m)
    expected = GaussianBNLearner(scratch=tmp_path, max_memory=20_000_000).fit(rows)
    found = GaussianBNLearner(scratch=str(tmp_path), max_memory=max_memory).fit(rows)
    assert stores == ["memory", "file"]
    check_equal(found, expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_file_with_constraints(stores, tmp_path):
    rows = table(20)
    tiers = [[0, 1, 2], list(range(3, 20))]
    knowledge = {"forbidden_edges": [(0, 1), (3, 2)], "required_edges": [(5, 4)]}
    for options in ({"tiers": tiers}, knowledge, {"max_parents": 2}):
        stores.clear()
        expected = GaussianBNLearner(**options).fit(rows)
        assert "file" not in stores
        found = GaussianBNLearner(**options, scratch=tmp_path, max_memory=2_300_000).fit(rows)
        assert "file" in stores
        check_equal(found, expected)


# Refusals


def refusal_of(ask, argument):
    with pytest.raises(ValueError, match=r"needs .* of memory") as caught:
        ask(argument)
    return str(caught.value)


UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def number_of_bytes(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def memory_above(message):
    """Return a little more than the memory that a refusal says is needed."""
    assert "aise max_memory above the memory needed" in message
    return 1.04 * number_of_bytes(re.search(r"needs ([\d.]+ [kMG]B) of memory", message)[1])


def test_a_refusal_names_a_folder_that_would_do(tmp_path, stores, monkeypatch):
    rows = table(18)
    message = refusal_of(GaussianBNLearner(max_memory=2_500_000).fit, rows)
    space = re.search(r"give GaussianBNLearner a folder with ([\d.]+ [kMG]B) of space", message)
    assert number_of_bytes(space[1]) == pytest.approx(8 << 18, rel=0.05)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 29, 8 << 18))
        GaussianBNLearner(max_memory=2_500_000, scratch=tmp_path).fit(rows)
    assert stores == ["file"]
    assert "scratch" not in refusal_of(GaussianBNLearner(max_memory=1_500_000).fit, rows)


@pytest.mark.slow
def test_a_refusal_names_the_least_memory_with_the_folder(tmp_path):
    """What is proposed is enough, and it is what the folder makes possible."""
    rows = table(18)
    for options in ({}, {"scratch": tmp_path}):
        message = refusal_of(GaussianBNLearner(**options, max_memory=1_000_000).fit, rows)
        n_bytes = memory_above(message)
        assert n_bytes < (4_000_000 if not options else 2_100_000)
        GaussianBNLearner(**options, max_memory=n_bytes).fit(rows)


def test_a_folder_with_too_little_space(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, (8 << 18) - 1))
    learner = GaussianBNLearner(scratch=tmp_path, max_memory=3_000_000)
    message = refusal_of(learner.fit, table(18))
    assert f"scratch={str(tmp_path)!r} has 2.0" in message
    assert "of the 2.0" in message
    assert vars(learner).keys() == learner.get_params().keys()


@pytest.mark.parametrize("scratch", [3, True, ["folder"], b"folder"])
def test_scratch_of_a_wrong_type(scratch):
    raises(r"'scratch' parameter .* must be", GaussianBNLearner(scratch=scratch).fit, table(3))


def test_scratch_that_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for name in (file, tmp_path / "missing", ""):
        raises(r"be a folder; there is none at '", GaussianBNLearner(scratch=name).fit, table(3))


@pytest.mark.slow
def test_lists_of_networks_need_memory(tmp_path, stores):
    learner = GaussianBNLearner(scratch=tmp_path, max_memory=2_500_000).fit(table(18))
    assert stores == ["file"]
    message = refusal_of(learner.near_optimal, 3)
    assert "scratch" not in message
    n_bytes = memory_above(message)
    listed = learner.set_params(max_memory=n_bytes).near_optimal(3)
    assert listed.scores[0] == pytest.approx(learner.network_score_, abs=1e-9)
    assert all(a >= b for a, b in itertools.pairwise(listed.scores))


@pytest.mark.parametrize("penalty", [0.5, pytest.param(4.0, marks=pytest.mark.slow)])
def test_penalties_of_scores(penalty, tmp_path, stores):
    """Scores that are given hold no log-determinants in memory."""
    rows = table(18)
    scores = LocalScoreTransformer(penalty=penalty).fit_transform(rows)
    found = GaussianBNLearner(scratch=tmp_path, max_memory=2_500_000).fit(scores)
    check_equal(found, GaussianBNLearner(penalty=penalty).fit(rows))
    assert stores == ["file", "memory"]


def test_a_folder_with_room_is_not_to_blame(tmp_path):
    """Of few columns with many others as parents, which no plan walks again."""
    tiers = [range(18), [18, 19]]
    learner = GaussianBNLearner(tiers=tiers, scratch=tmp_path, max_memory=3_000_000)
    assert "scratch=" not in refusal_of(learner.fit, table(20))
