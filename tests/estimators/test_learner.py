"""The optimum: against enumeration, a plain dynamic program, and what must hold for all data."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from agreement import assert_same_bits, raises

from skbn import GaussianBNLearner, LocalScoreTransformer, ParentSetScores, best_network
from skbn.datasets import make_gaussian_network


def random_rows(rng, m):
    """Rows of a random network: few or many, sparse or dense, sometimes of small integers."""
    n = int(rng.integers(m + 2, 300))
    rows = make_gaussian_network(m, mean_degree=rng.uniform(0, 4), n_samples=n, random_state=rng)[0]
    return np.round(2 * rows) if rng.random() < 0.2 and n > 10 * m else rows


@pytest.mark.parametrize("m", [*range(2, 10), pytest.param(10, marks=pytest.mark.slow)])
def test_optimum_is_that_of_the_dynamic_program(m):
    rng = np.random.default_rng(100 + m)
    rows = random_rows(rng, m)
    likelihood = reference.all_local_scores(rows, "loglik")
    for criterion, cost in {"bic": np.log(len(rows)) / 2, "aic": 1.0, "loglik": 0.0}.items():
        learner = GaussianBNLearner(criterion, penalty=1.5).fit(rows)
        scores = {(x, p): value - 1.5 * (len(p) + 2) * cost for (x, p), value in likelihood.items()}
        expected = reference.best_score_by_dynamic_program(scores, m)
        assert learner.network_score_ == pytest.approx(expected, abs=1e-8)
        own = sum(scores[x, ps] for x, ps in enumerate(reference.parents_of(learner.dag_)))
        assert own == pytest.approx(expected, abs=1e-8)
        assert nx.is_directed_acyclic_graph(learner.dag_)


# Ties


def test_ties_are_broken_by_column_order_and_not_by_rounding():
    """Of three columns that are all equally correlated each may be in the middle of a chain."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = rng.normal(size=(60, 3))
        basis = np.linalg.qr(rows - rows.mean(axis=0))[0]
        rows = basis @ np.linalg.cholesky(np.full((3, 3), 0.5) + 0.5 * np.eye(3)).T
        scores = LocalScoreTransformer(penalty=2).fit_transform(rows)
        chains = [
            sum(scores.local_score(x, [middle] if x != middle else []) for x in range(3))
            for middle in range(3)
        ]
        assert max(chains) - min(chains) < 1e-10
        learner = GaussianBNLearner(penalty=2).fit(rows)
        assert learner.network_score_ == pytest.approx(max(chains), abs=1e-10)
        assert list(learner.dag_.edges) == [(0, 1), (0, 2)]


def test_useless_parents_are_left_out():
    """Without a penalty, a parent that explains exactly nothing ties with none."""
    rows = np.array([[1, 1, -1, -1] * 8, [1, -1] * 16, ([1] * 4 + [-1] * 4) * 4]).T
    assert not GaussianBNLearner("loglik").fit(rows).dag_.edges


def test_a_reversible_edge_points_to_the_later_column():
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows = rng.normal(size=(50, 2)) @ [[1, 1], [0, 0.5]]
        assert list(GaussianBNLearner().fit(rows).dag_.edges) == [(0, 1)]
        assert list(GaussianBNLearner().fit(rows[:, ::-1]).dag_.edges) == [(0, 1)]


# Hard numbers and kinds of tables


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize(
    ("m", "n_jobs"), [(5, 2), (20, 2), (20, 3), pytest.param(22, 2, marks=pytest.mark.slow)]
)
def test_number_of_jobs_changes_no_bit(m, n_jobs):
    rows = make_gaussian_network(m, n_samples=200, random_state=m)[0]
    one, two = (GaussianBNLearner(n_jobs=n).fit(rows) for n in (1, n_jobs))
    assert_same_bits(one, two)
    np.testing.assert_array_equal(one.score_samples(rows), two.score_samples(rows))


@pytest.mark.parametrize(
    "units", [1e-150, 1e-9, 1e150, 10.0 ** np.linspace(-150, 150, 13)], ids=lambda u: f"{np.max(u)}"
)
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_hard_units_give_the_network_of_the_standardised_columns(wine, units, shift):
    rows = ((wine - wine.mean()) / wine.std(ddof=0)).to_numpy()
    units = units * np.ones(13)
    plain, hard = GaussianBNLearner().fit(rows), GaussianBNLearner().fit((rows + shift) * units)
    assert list(hard.dag_.edges) == list(plain.dag_.edges)
    term = np.log(units).sum()
    assert hard.network_score_ + 178 * term == pytest.approx(plain.network_score_, rel=1e-6)
    coef = hard.network_.coef_ / (units / units[:, np.newaxis])
    np.testing.assert_allclose(coef, plain.network_.coef_, rtol=1e-4, atol=1e-9)
    held_out = hard.score_samples((rows[:9] + shift) * units) + term
    np.testing.assert_allclose(held_out, plain.score_samples(rows[:9]), rtol=1e-4)


def read_only(rows):
    rows = rows.copy()
    rows.setflags(write=False)
    return rows


CONVERSIONS = [
    *(lambda x, kind=kind: x.astype(kind) for kind in (np.int64, np.int8, np.float32, object)),
    np.asfortranarray,
    lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    lambda x: x[::-1].copy()[::-1],
    lambda x: x.tolist(),
    read_only,
    lambda x: np.ma.masked_array(x, np.zeros(x.shape, bool)),
    pd.DataFrame,
    lambda x: pd.DataFrame(x).astype("Int64"),
    lambda x: pl.DataFrame(x, schema=[*"abcde"]),
]


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_kinds_of_tables(convert):
    rows = make_gaussian_network(5, n_samples=60, random_state=0)[0]
    rows = np.round(10 * rows / rows.std(axis=0))
    plain = GaussianBNLearner().fit(rows)
    table = convert(rows)
    before = np.array(table)
    learner = GaussianBNLearner().fit(table)
    np.testing.assert_array_equal(np.array(table), before)
    np.testing.assert_array_equal(learner.network_.coef_, plain.network_.coef_)
    assert learner.score(table) == plain.score(rows)


# What a fitted learner tells


def test_network_score_is_likelihood_less_complexity(wine, learner):
    n_parameters = 2 * 13 + learner.dag_.number_of_edges()
    expected = learner.score(wine) * len(wine) - n_parameters * np.log(len(wine)) / 2
    assert learner.network_score_ == pytest.approx(expected, abs=1e-8)
    scores = LocalScoreTransformer().fit_transform(wine)
    assert learner.network_score_ == scores.network_score(learner.dag_)


def test_max_memory_changes_the_plan_and_no_bit_of_the_result(capsys):
    rows = make_gaussian_network(18, n_samples=300, random_state=0)[0]
    roomy = GaussianBNLearner().fit(rows)
    tight = GaussianBNLearner(max_memory=6e6, verbose=True).fit(rows)
    assert "18 columns in 16 parts: 5." in capsys.readouterr().out
    assert tight.network_score_ == roomy.network_score_
    np.testing.assert_array_equal(tight.network_.coef_, roomy.network_.coef_)
    with pytest.raises(ValueError, match=r"18 columns needs 3\.8 MB .*, and 1\.0 MB are allowed"):
        GaussianBNLearner(max_memory=1e6).fit(rows)
    named = GaussianBNLearner(max_memory="6 MB").fit(rows)
    assert named.network_score_ == tight.network_score_
    raises(r"1\.0 MB are allowed by max_memory", GaussianBNLearner(max_memory="1MB").fit, rows)
    for wrong in (0, "0 GB", "much"):
        raises(r"'max_memory' parameter.*'2GB'", GaussianBNLearner(max_memory=wrong).fit, rows)


# The search as a plain function


@pytest.mark.parametrize(
    "knowledge", [{}, {"tiers": [[3, 4], ...], "forbidden_edges": [(0, 1)]}, {"max_parents": 1}]
)
def test_best_network_is_that_of_the_learner(rows, knowledge):
    found = best_network(LocalScoreTransformer().fit_transform(rows), **knowledge)
    learner = GaussianBNLearner(**knowledge).fit(rows)
    assert found.score == learner.network_score_
    assert found.is_optimal
    assert found.gap == 0
    assert [*found.network.dag.edges] == [*learner.dag_.edges]
    np.testing.assert_array_equal(found.network.coef_, learner.network_.coef_)


def test_listed_scores_have_a_network_without_parameters():
    scores = ParentSetScores(["a", "b"], [([[-1]], [-3.0]), ([[-1], [0]], [-4.0, -2.5])])
    found = best_network(scores)
    assert found.score == -5.5
    assert [*found.network.dag.edges] == [("a", "b")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0}, "'tol' parameter of best_network"),
        ({"max_parents": -1}, "'max_parents' parameter of best_network"),
        ({"max_memory": 1000}, "Raise max_memory above"),
    ],
)
def test_best_network_names_what_it_refuses(rows, settings, message):
    raises(message, best_network, LocalScoreTransformer().fit_transform(rows), **settings)
