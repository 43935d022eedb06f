"""The pages of theory: their Python blocks, their tables, and what they say holds for all m."""

import re
from collections import defaultdict
from itertools import combinations
from math import ceil, comb
from pathlib import Path

import numpy as np
import pytest
import reference
from reference import follow
from test_documents import run_blocks

from skbn import GaussianBNLearner
from skbn._exact.plan import SearchPlan
from skbn.paper import greedy_swaps, seed_path

THEORY = Path(__file__).parents[1] / "docs" / "theory"


def table_rows(page, heading):
    """The cells of the first table that has this heading, row by row."""
    text = (THEORY / f"{page}.md").read_text(encoding="utf-8")
    rows = text[text.index(f"| {heading} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("*") for cell in row.strip("|").split("|")] for row in rows]


PAGES = ["algorithm", "regressions", "families", "search", "near-optimal"]
PAGES += ["proof", "posterior", "missing", "experiments", "accuracy"]


@pytest.mark.filterwarnings("ignore::skbn.exceptions.RedundantColumnsWarning")
@pytest.mark.parametrize("page", PAGES)
def test_pages(page):
    names = run_blocks(THEORY / f"{page}.md")
    if page == "algorithm":
        assert sorted(names["edges"]) == sorted(names["learner"].dag_.edges)
    if page == "search":
        for d, v in [(1, 1), (4, 3), (7, 2), (7, 5)]:
            plan = SearchPlan(30, d, n_varying=v)
            pieces = sum(comb(d, k) * 2**k * max(1, ceil(k / v)) for k in range(d + 1))
            assert pieces == sum(plan.n_pieces(T.bit_count()) for T in range(1 << d))
    if page == "accuracy":
        assert names["refusal"].startswith(
            "Column 2 is collinear with others: column 2 = 1 * column 0"
        )
    if page == "proof":
        # as the page says: no cluster's cut is violated, and the last cut is
        assert (names["cuts"][:4] @ names["y"] >= 1 - 1e-9).all()
        assert names["local_cut"] @ names["y"] == pytest.approx(1.5)
        assert names["cheapest"] - names["with_clusters"] == pytest.approx(29.4, abs=0.05)
    if page == "search":
        printed = [row[-1].replace("\N{MINUS SIGN}", "-") for row in table_rows(page, "$W$")]
        columns = names["columns"]
        best = [f"{names['scores'].local_score(x, []):.2f}" for x in columns]
        for some in [*map(list, combinations(columns, 2)), columns]:
            best.append(f"{GaussianBNLearner().fit(names['wine'][some]).network_score_:.2f}")
        assert printed == [", ".join(best[:3]), *best[3:]]
        assert sorted(names["learner"].dag_.edges) == [
            ("alcohol", "color_intensity"),
            ("alcohol", "proline"),
        ]


def test_local_scores_of_the_three_columns():
    scores = run_blocks(THEORY / "search.md")["scores"]
    letters = {"a": "alcohol", "c": "color_intensity", "p": "proline"}
    n_checked = 0
    for row in table_rows("search", "child"):
        child = re.search(r"\((.)\)", row[0])[1]
        others = [letter for letter in letters if letter != child]
        one = dict(pair.split(": ") for pair in row[2].split(", "))
        printed = {(): row[1], **{(p,): one[p] for p in others}, tuple(others): row[3]}
        for parents, value in printed.items():
            score = scores.local_score(letters[child], [letters[p] for p in parents])
            assert f"{score:.2f}" == value.replace("\N{MINUS SIGN}", "-")
            n_checked += 1
    assert n_checked == 12


@pytest.mark.parametrize("n_outer", range(9))
@pytest.mark.parametrize("m", [16, 23, 30])
def test_memory_and_work_of_slabs(m, n_outer):
    plan = SearchPlan(m, n_outer)
    assert plan.n_bytes == 16 * 2**m + (m + n_outer) * 2 ** (m - 1 - n_outer) * 8
    maxima = sum(2 ** fixed.bit_count() * plan.slab_size for fixed in range(2**n_outer))
    assert maxima == pytest.approx(1.5**n_outer * (m + n_outer) * 2 ** (m - 1), rel=1e-12)
    filled = transformed = 0
    for child in range(m):
        size = 1 << plan.table_bits[child]
        for fixed in range(2**n_outer):
            if not fixed << plan.n_inner >> child & 1:
                filled += 2 ** fixed.bit_count() * size
                transformed += plan.table_bits[child] * size // 2
    assert filled == pytest.approx(1.5**n_outer * (m - n_outer / 3) * 2 ** (m - 1), rel=1e-12)
    assert transformed == (m - n_outer) * (m - 1) * 2 ** (m - 2)


def most_passed(order, passed, n_swaps):
    """Return how many sets any sequence of so many swaps makes prefixes, at the most."""
    if n_swaps == 0:
        return len(passed)
    after = [follow(order, [i])[1] for i in range(len(order) - 1)]
    return max(
        most_passed(swapped, passed | {frozenset(swapped[: i + 1])}, n_swaps - 1)
        for i, swapped in enumerate(after)
    )


@pytest.mark.parametrize("m", [2, 3, 4])
def test_no_shorter_sequence_passes_all_sets(m):
    prefixes = {frozenset(range(p)) for p in range(m + 1)}
    assert most_passed(range(m), prefixes, 2**m - m - 2) == 2**m - 1


@pytest.mark.parametrize("is_equivalent", [True, False])
def test_condition_for_score_equivalence(is_equivalent):
    """Any log-determinants, and any c: the condition alone decides."""
    m, rng = 4, np.random.default_rng(0)
    c, a0, a1 = rng.normal(size=(3, m))
    if is_equivalent:
        a0[1:] = -a1[:-1]
    log_det = {frozenset(subset): rng.normal() for subset in reference.subsets(range(m))}
    scores_of_class = defaultdict(list)
    for graph in reference.all_dags(m):
        score = sum(
            c[len(ps)]
            + a0[len(ps)] * log_det[frozenset(ps)]
            + a1[len(ps)] * log_det[frozenset({*ps, x})]
            for x, ps in enumerate(graph)
        )
        scores_of_class[reference.equivalence_class(graph)].append(score)
    assert len(scores_of_class) == 185
    for scores in scores_of_class.values():
        assert (np.ptp(scores) < 1e-12) == (is_equivalent or len(scores) == 1)


@pytest.mark.parametrize("m", range(2, 9))
def test_what_the_paper_counts(m):
    """Regressions after all sets without the last column, and flops of Cholesky factors."""
    reached = set()
    for order in follow(range(m), greedy_swaps(m - 1)):
        reached |= reference.families_of_order(order)
    without_last = {(x, parents) for x, parents in reached if m - 1 not in parents}
    assert len(without_last) == len(reached) == (m + 1) * 2 ** (m - 2) - m
    flops_times_3 = m * sum(k**3 * comb(m, k) for k in range(1, m + 1))
    assert 8 * flops_times_3 == m**3 * (m + 3) * 2**m
    of_the_others_times_3 = m * sum(k**3 * comb(m - 1, k) for k in range(1, m))
    assert 16 * of_the_others_times_3 == m * (m - 1) ** 2 * (m + 2) * 2**m
    within_the_others = {(x, parents) for x, parents in without_last if x != m - 1}
    assert len(within_the_others) == (m - 1) * (2 ** (m - 2) - 1)


@pytest.mark.parametrize("m", range(2, 9))
def test_bound_of_the_seeds_paths(m):
    for k in range(m):
        p = 2**k
        length = sum(len(seed_path(m, p, seed)[1]) for seed in range(p))
        assert length >= 2**m - 2 - (m - 1) * p
        assert (length == 2**m - 2 - (m - 1) * p) == (p <= 2)
        assert (length == 2**m - 1 - m * p) == (p == 1)
