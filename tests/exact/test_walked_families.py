"""Families whose log-determinants are made again: not a bit differs from those in memory."""

from functools import cache

import numpy as np
import pytest
from agreement import raises
from families_of_factors import Case, network_of, random_case, search_of, table_of_bic

from skbn._core.resources import Threads
from skbn._core.subsets import mask_of, members_of
from skbn._exact import walked_families
from skbn._exact.dense_families import DenseFamilies
from skbn._exact.plan import SearchPlan
from skbn._exact.walked_families import WalkedFamilies
from skbn._regressions.log_determinants import SubsetWalk, set_functions
from skbn._regressions.set_function import SetWeights

KINDS = {
    "free": {},
    "with offsets": {"has_offsets": True},
    "constrained": {"is_constrained": True},
    "beside another": {"n_others": 1, "has_offsets": True},
    "constrained, beside others": {"n_others": 2, "is_constrained": True},
}


@cache
def case_of(m, kind):
    return random_case(m, seed=m, **KINDS[kind])


@cache
def expected_of(m, kind):
    """F, best local scores and the network, by families in memory."""
    return search_of(*case_of(m, kind).in_memory())


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[2] == expected[2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("m", "n_outer", "n_varying"),
    [
        pytest.param(15, 1, 1, marks=pytest.mark.slow),
        (16, 2, 1),
        pytest.param(17, 3, 2, marks=pytest.mark.slow),
    ],
)
def test_windows_change_no_bit(m, n_outer, n_varying, kind):
    *_, network = expected = expected_of(m, kind)
    assert np.isfinite(network.score)
    assert sum(mask.bit_count() for mask in network.parents) > 2
    assert_same_bits(search_of(*case_of(m, kind).walked(n_outer, n_varying)), expected)


@pytest.mark.parametrize("n_varying", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_threads_and_a_file_change_no_bit(n_varying, tmp_path, monkeypatch):
    monkeypatch.setattr("skbn._core.resources.FEWEST_COLUMNS", 0)
    m, kind = 17, "constrained, beside others"
    for n_jobs, scratch in [(2, None), (1, tmp_path), (2, tmp_path)]:
        walked = case_of(m, kind).walked(3, n_varying, scratch)
        assert_same_bits(search_of(*walked, n_jobs), expected_of(m, kind))


def test_families_are_searched_again():
    """As for several penalties: nothing of the first search is left in the second."""
    plan, families = case_of(16, "free").walked(2, 1)
    first = network_of(plan, families)
    assert network_of(plan, families) == first


@pytest.mark.parametrize("kind", ["free", "beside another"])
def test_functions_of_sets(kind):
    case = case_of(17, kind)
    _, families = case.walked(3, 2)
    sets = np.random.default_rng(0).integers(1, 1 << len(case.factor), (5, 4))
    sets[0, 0], sets[1, 1] = 0, sets[2, 2]
    gram = case.factor.T @ case.factor
    found = families.functions_of(sets)
    assert found.of_family.shape == found.of_parents.shape == sets.shape
    weights = SetWeights(case.tables)
    for i, mask in np.ndenumerate(sets):
        columns = members_of(mask)
        log_det = np.linalg.slogdet(gram[np.ix_(columns, columns)])[1]
        if case.offsets is not None:
            log_det += case.offsets[columns].sum()
        expected = weights.at(mask, log_det)
        assert found.of_family[i] == pytest.approx(expected.of_family, abs=1e-8)
        assert found.of_parents[i] == pytest.approx(expected.of_parents, abs=1e-8)


# The walk back


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_sink_is_that_of_families_in_memory(kind):
    """Of sets of few columns, and of those that no window holds."""
    m = 17
    case = case_of(m, kind)
    _, dense = case.in_memory()
    _, walked = case.walked(3, 3)
    rng = np.random.default_rng(0)
    n_found, n_not_first = 0, 0
    with Threads(1) as threads:
        for size in [1, 2, 3, 5, 9, 14, 15, 16, 17]:
            chosen = np.sort(rng.permutation(m)[:size])
            columns = mask_of(chosen.tolist())
            thresholds = {}
            for sink in rng.permutation(chosen)[:4].tolist():
                best, _ = dense.best_parents(sink, columns ^ 1 << sink)
                thresholds[sink] = max(best, -1e300) + rng.choice([-30, 0, 1e-6])
            expected = dense.first_sink(columns, thresholds, threads)
            assert walked.first_sink(columns, thresholds, threads) == expected
            assert walked._first_by_pieces(columns, thresholds, threads) == expected
            n_found += expected is not None
            n_not_first += expected is not None and expected[0] != next(iter(thresholds))
    assert n_found >= 4
    assert n_not_first >= 1


def factor_of(rows):
    centred = rows - rows.mean(axis=0)
    return np.linalg.qr(centred / np.linalg.norm(centred, axis=0), mode="r")


def dependent_rows(m, seed):
    rows = np.random.default_rng(seed).normal(size=(200, m))
    for x in range(1, m):
        rows[:, x] += 0.4 * rows[:, x - 1]
    return rows


def near_zero(m, seed):
    """Columns of length 1: the logarithm of one is rounding, and so is a score without parents."""
    tables = table_of_bic(m, penalty=50)
    tables[0] -= tables[0, 0]
    return Case(m, factor_of(dependent_rows(m, seed)), tables)


def nearly_collinear(m, seed):
    rows = dependent_rows(m, seed)
    rows[:, 3::4] = rows[:, ::4][:, : len(range(3, m, 4))] + 1e-6 * rows[:, 3::4]
    return Case(m, factor_of(rows), table_of_bic(m))


def tied(m, seed):
    """All pairs are correlated alike, and a parent costs as much as it gains."""
    rho = 0.05 * (seed + 1)
    factor = np.linalg.cholesky(np.full((m, m), rho) + (1 - rho) * np.eye(m)).T.copy()
    of_size = 2 * np.log(np.diag(factor)).cumsum()
    residuals = np.diff(of_size, prepend=0.0)
    return Case(m, factor, np.array([100 * residuals, np.full(m, 100.0), np.full(m, -100.0)]))


def in_pairs(m, seed):
    """Each column is there twice, with noise, in an order of its own."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, m))
    rows[:, 1::2] = rows[:, : m - 1 : 2] + rng.choice([-1.0, 1.0], size=(60, m // 2))
    rows = rows[:, rng.permutation(m)].round(1)
    return Case(m, factor_of(np.vstack([rows, -rows])), table_of_bic(m, 120, penalty=0.5))


@pytest.mark.parametrize("make", [near_zero, nearly_collinear, tied, in_pairs])
@pytest.mark.parametrize(
    ("m", "n_outer", "n_varying", "seed"),
    [(15, 1, 1, 0), pytest.param(17, 3, 3, 1, marks=pytest.mark.slow)],
)
def test_rounding_and_ties_change_no_network(make, m, n_outer, n_varying, seed):
    """A walk through few columns rounds in other ways than the one that filled the tables."""
    case = make(m, seed)
    expected = network_of(*case.in_memory())
    assert len(expected.parents) == m
    assert network_of(*case.walked(n_outer, n_varying)) == expected


# Nodes of several columns


@pytest.mark.parametrize(("max_parents", "has_offsets"), [(15, False), (3, True)])
def test_nodes_of_several_columns(max_parents, has_offsets):
    """Families in memory are walked through in another order, and rounded in other ways."""
    widths = [1, 2, 1, 1, 3, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1]
    m, n_columns = len(widths), sum(widths)
    case = random_case(n_columns, has_offsets=False)
    offsets = np.random.default_rng(1).normal(size=m) if has_offsets else None
    weights = SetWeights.of_nodes(case.tables, widths, -0.1 * np.arange(m + 1.0), max_parents)
    sets = set_functions(case.factor, weights, offsets=offsets)
    plan = SearchPlan(m, 1, 0)
    dense = DenseFamilies([sets] * m, plan)
    best, local, expected = search_of(plan, dense)
    walked_plan = SearchPlan(m, 2, 0, n_varying=1)
    walked = WalkedFamilies(case.factor, offsets, weights, walked_plan)
    found, found_local, network = search_of(walked_plan, walked)
    np.testing.assert_allclose(found, best, rtol=1e-12)
    np.testing.assert_allclose(found_local, local, rtol=1e-12)
    assert network.parents == expected.parents
    assert sum(mask.bit_count() for mask in network.parents) > 2
    assert network.score == pytest.approx(expected.score, rel=1e-12)
    some = np.array([0, 5, 1 << m - 1, 49_151])
    of_family = walked.functions_of(some).of_family
    np.testing.assert_allclose(of_family, sets.of_family[some], rtol=1e-12, atol=1e-9)
    everyone = (1 << m) - 1
    with Threads(1) as threads:
        for columns in (0b1010_1100_0111, everyone):
            members = members_of(columns)[::-1][:3]
            thresholds = {x: dense.best_parents(x, columns ^ 1 << x)[0] - 1e-6 for x in members}
            of_dense = dense.first_sink(columns, thresholds, threads)
            assert of_dense is not None
            assert walked.first_sink(columns, thresholds, threads) == of_dense


# Faults


def shifted(pieces):
    return [*pieces[1:], pieces[0]]


@pytest.mark.parametrize(
    ("owner", "name", "fault"),
    [
        (walked_families, "subsets_of", lambda f: lambda mask: shifted(f(mask))),
        (SubsetWalk, "with_columns", lambda f: lambda walk, n, others: f(walk, n, others ^ 1)),
        (WalkedFamilies, "_steps_within", lambda f: lambda *given: f(*given)[::-1].copy()),
    ],
)
def test_windows_of_other_pieces_are_noticed(owner, name, fault, monkeypatch):
    plan, families = random_case(16).walked(2, 2)
    monkeypatch.setattr(owner, name, fault(getattr(owner, name)))
    raises("are not those of its families", network_of, plan, families, kind=RuntimeError)
