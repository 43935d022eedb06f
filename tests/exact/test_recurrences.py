"""The kernels of the search against NumPy and plain Python, and the plan of its memory."""

import tracemalloc

import numpy as np
import pytest
import reference

from skbn._core.resources import Progress, Threads
from skbn._core.subsets import mask_of, members_of
from skbn._exact.dense_families import (
    DenseFamilies,
    ParentSets,
    SearchColumns,
    parents_that_reach,
    sets_that_reach,
)
from skbn._exact.listed_families import ListedFamilies
from skbn._exact.plan import SearchPlan
from skbn._exact.recurrences import ArrayStore, best_scores, exact_search
from skbn._regressions.set_function import SetWeights

TABLES = {
    "as BIC": lambda m: np.array([-3.0 * np.arange(m), np.full(m, 50.0), np.full(m, -50.0)]),
    "all varying": lambda m: np.random.default_rng(m).normal(size=(3, m)),
}


def random_log_det(m, seed=0):
    log_det = np.random.default_rng(seed).normal(size=1 << m)
    log_det[0] = 0
    return log_det


def dense_families(log_det, tables, plan, allowed=None, required=None):
    sets = [SetWeights(tables).of_all(log_det)] * plan.n_columns
    return DenseFamilies(sets, plan, allowed, required)


def search(log_det, tables, plan, n_jobs=None):
    return exact_search(dense_families(log_det, tables, plan), plan, n_jobs)


@pytest.mark.parametrize("m", [4, 9, 12])
def test_plan_changes_no_bit(m, monkeypatch):
    log_det, tables = random_log_det(m), TABLES["all varying"](m)
    expected = search(log_det, tables, SearchPlan(m, 0))
    for n_outer in range(min(m - 2, 5)):
        for block_bits in range(2, m - n_outer + 1):
            plan = FixedPlan(m, n_outer, block_bits)
            assert search(log_det, tables, plan) == expected


class FixedPlan(SearchPlan):
    """A plan with blocks of any size, which a plan for the machine would not choose."""

    block_bits = None
    is_small = False

    def __init__(self, n_columns, n_outer, block_bits, n_others=0):
        super().__init__(n_columns, n_outer, n_others)
        object.__setattr__(self, "block_bits", block_bits)


@pytest.mark.parametrize("n_outer", [0, 1, 3])
def test_threads_change_no_bit(n_outer):
    m = 18
    log_det, tables = random_log_det(m), TABLES["as BIC"](m)
    plan = SearchPlan(m, n_outer)
    results = []
    for n_jobs in (1, 2, 3):
        families = dense_families(log_det, tables, plan)
        with Threads(n_jobs, m) as threads:
            store = ArrayStore(plan)
            local = best_scores(families, plan, store, threads, Progress())
            results.append((store.scores, local))
        results[-1] += (search(log_det, tables, plan, n_jobs),)
    for best, local, result in results[1:]:
        np.testing.assert_array_equal(best, results[0][0])
        np.testing.assert_array_equal(local, results[0][1])
        assert result == results[0][2]


@pytest.mark.parametrize("m", [4, 8])
@pytest.mark.parametrize("n_outer", [0, 2])
def test_best_local_scores(m, n_outer):
    log_det, tables = random_log_det(m), TABLES["all varying"](m)
    scores = reference.scores_by_tables(tables, log_det)
    plan = SearchPlan(m, n_outer)
    with Threads(1, m) as threads:
        families = dense_families(log_det, tables, plan)
        local = best_scores(families, plan, ArrayStore(plan), threads, Progress())
    for child in range(m):
        assert local[child] == max(score for (x, _), score in scores.items() if x == child)


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_the_first_parents_that_reach_a_threshold(is_shuffled):
    m = 7
    log_det, tables = random_log_det(m).round(1), TABLES["as BIC"](m)
    functions = SetWeights(tables).of_all(log_det)
    scores = reference.scores_by_tables(tables, log_det)
    several = 0
    numbers = np.random.default_rng(0).permutation(m) + 3 if is_shuffled else np.arange(m)
    columns = SearchColumns(m, m, numbers=numbers.tolist())
    for child, candidates in reference.families(m):
        best = max(scores[child, p] for p in reference.subsets(candidates))
        for threshold in (best, best - 30):
            reached = [p for p in reference.subsets(candidates) if scores[child, p] >= threshold]
            sets = ParentSets(*functions, 0, 1 << child, child, mask_of(candidates), 0, 0)
            first = columns.first_of(sets_that_reach(sets, threshold)[0])
            in_order = [sorted(numbers[list(p)]) for p in reached]
            assert reference.is_first_in_order(sorted(numbers[members_of(first)]), in_order)
            several += len(reached) > 1
        above = np.nextafter(best, np.inf)
        assert len(sets_that_reach(sets, above)[0]) == 0
    assert several > 100


def test_parents_that_reach_a_threshold():
    m = 6
    log_det, tables = random_log_det(m), TABLES["all varying"](m)
    functions = SetWeights(tables).of_all(log_det)
    scores = reference.scores_by_tables(tables, log_det)
    required = 1 << 2
    for child, candidates in reference.families(m):
        for must in (0, required):
            of_sets = {
                mask_of(p): scores[child, p]
                for p in reference.subsets(candidates)
                if must & ~mask_of(p) == 0
            }
            sets = ParentSets(*functions, 0, 1 << child, child, mask_of(candidates), must, 0)
            best = max(of_sets.values(), default=-np.inf)
            for n_outer in (0, 1):  # NumPy and the kernel
                families = DenseFamilies([functions] * m, SearchPlan(m, n_outer), None, [must] * m)
                chosen = max(of_sets, key=of_sets.get, default=0)
                assert families.best_parents(child, mask_of(candidates)) == (best, chosen)
            for threshold in (best - 1.5, best, np.nextafter(best, np.inf)):
                expected = {p: s for p, s in of_sets.items() if s >= threshold}
                for room in (64, 1):  # more may reach the threshold than there is room for
                    masks, local = np.zeros(room, dtype=np.int64), np.zeros(room)
                    n = parents_that_reach(sets, threshold, masks, local)
                    assert n == len(expected)
                    listed = dict(zip(masks[:n].tolist(), local[:n].tolist(), strict=True))
                    assert listed.items() <= expected.items()
                    assert len(listed) == min(n, room)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_shared_walk_back_finds_the_same_parents(n_jobs, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.FEWEST_COLUMNS", 0)
    m, many = 9, 99
    plan = FixedPlan(m, 0, block_bits=m)
    for seed in range(20):
        log_det, tables = random_log_det(m, seed).round(1), TABLES["as BIC"](m)  # with ties
        monkeypatch.setattr("skbn._exact.dense_families._FEWEST_TO_SHARE", many)
        expected = search(log_det, tables, plan)
        monkeypatch.setattr("skbn._exact.dense_families._FEWEST_TO_SHARE", 5)
        assert search(log_det, tables, plan, n_jobs) == expected


def constrained_case(rng):
    """Scores of some children with parents among them and others; masks; an acyclic order."""
    m = int(rng.integers(2, 8))
    n_children = int(rng.integers(min(m, 2), m + 1))
    log_det, tables = random_log_det(m, int(rng.integers(1000))), TABLES["all varying"](m)
    order = rng.permutation(n_children)
    allowed, required = [], []
    for x in range(n_children):
        before = [*order[: list(order).index(x)], *range(n_children, m)]
        must = [p for p in before if rng.random() < 0.15]
        may = [p for p in range(m) if p != x and rng.random() < 0.7]
        allowed.append(mask_of({*must, *may}))
        required.append(mask_of(must))
    scores = {
        (x, parents): score
        for (x, parents), score in reference.scores_by_tables(tables, log_det).items()
        if x < n_children
        and not mask_of(parents) & ~allowed[x]
        and not required[x] & ~mask_of(parents)
    }
    return m, n_children, log_det, tables, allowed, required, scores


def check_network(result, scores, n_children, expected):
    assert result.score == pytest.approx(expected, rel=1e-12)
    parents = [tuple(members_of(mask)) for mask in result.parents]
    assert sum(scores[x, ps] for x, ps in enumerate(parents)) == pytest.approx(expected, rel=1e-12)
    among_children = [tuple(p for p in ps if p < n_children) for ps in parents]
    assert reference.is_acyclic(among_children)


def test_constrained_search_among_others():
    rng = np.random.default_rng(0)
    for _ in range(300):
        m, n_children, log_det, tables, allowed, required, scores = constrained_case(rng)
        n_outer = int(rng.integers(max(n_children - 1, 1)))
        plan = SearchPlan(n_children, n_outer, m - n_children)
        if plan.n_inner > 2 and rng.random() < 0.5:
            block_bits = int(rng.integers(2, plan.n_inner + 1))
            plan = FixedPlan(n_children, n_outer, block_bits, m - n_children)
        families = dense_families(log_det, tables, plan, allowed, required)
        expected = reference.best_score_by_dynamic_program(scores, n_children)
        check_network(exact_search(families, plan), scores, n_children, expected)


def test_search_of_listed_families():
    rng = np.random.default_rng(1)
    infeasible = 0
    for _ in range(300):
        m, n_children, *_, scores = constrained_case(rng)
        kept = {family: score for family, score in scores.items() if rng.random() < 0.3}
        numbers = rng.permutation(40)[:m]  # of the columns
        listed = [[(p, s) for (x, p), s in kept.items() if x == child] for child in range(m)]
        width = max((len(p) for child in listed for p, _ in child), default=0)
        rows = [
            np.array(
                [sorted(numbers[list(p)]) + [-1] * (width - len(p)) for p, _ in child],
                dtype=np.int16,
            ).reshape(len(child), width)
            for child in listed[:n_children]
        ]
        values = [np.array([s for _, s in child]) for child in listed[:n_children]]
        plan = SearchPlan(n_children, int(rng.integers(max(n_children - 1, 1))))
        result = exact_search(
            ListedFamilies(numbers[:n_children].tolist(), rows, values, plan, lambda *_: 1.0), plan
        )
        expected = reference.best_score_by_dynamic_program(kept, n_children)
        if expected == -np.inf:
            assert result[:2] == ([], -np.inf)
            infeasible += 1
            continue
        back = {int(number): x for x, number in enumerate(numbers)}
        parents = [mask_of(back[p] for p in members_of(mask)) for mask in result.parents]
        check_network(result._replace(parents=parents), kept, n_children, expected)
    assert 20 < infeasible < 200


@pytest.mark.parametrize("n_outer", [0, 2, 4, 8])
def test_the_search_takes_the_memory_that_its_plan_says(n_outer):
    m = 18
    log_det, tables = random_log_det(m), TABLES["as BIC"](m)
    plan = SearchPlan(m, n_outer)
    families = dense_families(log_det, tables, plan)
    exact_search(families, plan)  # compiled
    tracemalloc.start()
    exact_search(families, plan)
    peak = tracemalloc.get_traced_memory()[1] + log_det.nbytes
    tracemalloc.stop()
    assert peak < 1.05 * plan.n_bytes + 1_000_000
