"""The posterior of networks from tables with missing values."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from incomplete_tables import correlated_rows, with_holes
from numpy.testing import assert_allclose

from skbn import BGe, GaussianBNLearner, GaussianBNPosterior
from skbn._data.nodes import Nodes
from skbn._networks.inference import filled
from skbn._posterior import augmentation as module
from skbn.exceptions import ApproximateEvidenceWarning, MissingValuesWarning


def table(seed=0, m=4, n=60, share=0.15):
    rng = np.random.default_rng(seed)
    rows = correlated_rows(m, n, rng)
    return with_holes((rows - rows.mean(axis=0)) / rows.std(axis=0), share, rng)


def augmented(X, weight=None, interventions=None, **parameters):
    parameters = {"missing": "augment", "random_state": 0, "n_jobs": 1, **parameters}
    given = {"sample_weight": weight, "interventions": interventions}
    return GaussianBNPosterior(**parameters).fit(X, **given)


def rows_in_a_chain(n):
    rows = np.random.default_rng(1).normal(size=(n, 3))
    rows[:, 1] += 0.8 * rows[:, 0]
    rows[:, 2] += 0.6 * rows[:, 1]
    return rows


def probabilities_by_quadrature(rows, grid):
    """Edge probabilities, with the holes on a grid: all networks of all completed tables."""
    m = rows.shape[1]
    nu = np.nanmean(rows, axis=0)
    holes = np.argwhere(np.isnan(rows))
    networks = list(reference.all_dags(m))
    evidence, edges = [], []
    for values in product(grid, repeat=len(holes)):
        complete = rows.copy()
        complete[tuple(holes.T)] = values
        scores = reference.all_bge_local_scores(complete, nu=nu)
        of_table = reference.sums_over(networks, scores)
        evidence.append(of_table[0])
        edges.append(of_table[2])
    return np.average(edges, axis=0, weights=np.exp(np.array(evidence) - max(evidence)))


@pytest.mark.parametrize(
    ("holes", "n_points", "n_imputations"),
    [
        pytest.param([(0, 1)], 29, 50, id="one hole"),
        pytest.param([(0, 1), (1, 2)], 33, 2000, marks=pytest.mark.slow, id="two holes"),
    ],
)
def test_probabilities_are_those_of_quadrature(holes, n_points, n_imputations):
    rows = rows_in_a_chain(12)
    rows[0, 0] = 2.5  # which tells much about the hole beside it
    rows[tuple(np.transpose(holes))] = np.nan
    expected = probabilities_by_quadrature(rows, np.linspace(-9, 9, n_points))
    posterior = augmented(rows, n_imputations=n_imputations)
    difference = abs(posterior.edge_probabilities_ - expected)
    assert (difference <= 4.5 * posterior.edge_standard_errors_ + 1e-9).all()
    assert difference.max() < 0.03


@pytest.mark.slow
def test_standard_errors_are_those_of_repeated_chains():
    rows = table(1, share=0.3)
    chains = [augmented(rows, random_state=seed) for seed in range(12)]
    means = np.array([each.edge_probabilities_ for each in chains])
    stated = np.array([each.edge_standard_errors_ for each in chains])
    off = ~np.eye(4, dtype=bool)
    ratio = np.sqrt((stated**2).mean(axis=0)[off].sum() / means.var(axis=0, ddof=1)[off].sum())
    assert 0.6 < ratio < 1.7


def test_a_table_without_holes_has_its_exact_posterior():
    rows = table(2, share=0.0)
    one, other = augmented(rows), GaussianBNPosterior(n_jobs=1).fit(rows)
    np.testing.assert_array_equal(one.edge_probabilities_, other.edge_probabilities_)
    assert one.log_evidence_ == other.log_evidence_
    assert not hasattr(one, "edge_standard_errors_")


@pytest.mark.usefixtures("two_blas_threads")
def test_draws_repeat_with_a_seed_and_any_number_of_jobs():
    rows = table(3)
    one = augmented(rows, n_imputations=2)
    other = augmented(rows, n_imputations=2, n_jobs=2)
    np.testing.assert_array_equal(one.edge_probabilities_, other.edge_probabilities_)
    np.testing.assert_array_equal(one.imputed_tables_, other.imputed_tables_)
    other = augmented(rows, n_imputations=2, random_state=1)
    assert (one.edge_probabilities_ != other.edge_probabilities_).any()


def test_many_patterns_begin_with_the_kernel(monkeypatch):
    by_numpy = module._saturated_model(table())
    monkeypatch.setattr(module, "MOST_PATTERNS", 0)
    by_kernel = module._saturated_model(table())
    assert_allclose(by_numpy.mean, by_kernel.mean, atol=1e-12)
    assert_allclose(by_numpy.covariance(), by_kernel.covariance(), atol=1e-12)


def test_knowledge_and_limits_hold():
    rows = table(6)
    knowledge = {"tiers": [[2], ...], "required_edges": [(2, 0)], "max_parents": 2}
    posterior = augmented(rows, n_imputations=2, **knowledge)
    edges = posterior.edge_probabilities_
    assert edges[2, 0] == pytest.approx(1)
    assert (edges[[0, 1, 3], 2] == 0).all()
    order = augmented(rows, structure_prior="order", n_imputations=2)
    assert not hasattr(order, "path_probabilities_")
    odds = augmented(rows, edge_prior=1e-6, n_imputations=2)
    assert odds.edge_probabilities_.sum() < edges.sum()
    with pytest.warns(ApproximateEvidenceWarning):
        augmented(rows, criterion="bic", n_imputations=2)


def test_networks_are_sampled_of_all_tables():
    posterior = augmented(table(7), n_imputations=4)
    networks = posterior.sample_networks(800, random_state=0)
    share = np.mean([net.dag.has_edge(0, 1) for net in networks])
    assert share == pytest.approx(posterior.edge_probabilities_[0, 1], abs=0.08)
    dags = posterior.sample_dags(2500, random_state=0)
    assert len(dags) == 2500
    assert networks[0].noise_variance_[0] > 0
    assert len({net.noise_variance_[0] for net in networks}) == 800
    raises("n_samples must be at least 1; got 0", posterior.sample_networks, 0)
    frame = posterior.to_frame()
    assert frame["joined"].max() <= 1 + 1e-9
    errors = [*frame["standard_error"], *frame["reverse_standard_error"]]
    assert max(errors) == posterior.edge_standard_errors_.max()
    assert posterior.dag_.edges == posterior.median_network_.dag.edges


@pytest.fixture(scope="module")
def of_two_tables():
    return augmented(table(8), n_imputations=2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda posterior: posterior.log_probability(posterior.dag_),
        lambda posterior: posterior.parent_set_probabilities(0),
        lambda posterior: posterior.probability(len),
    ],
)
def test_what_one_table_knows_is_refused(of_two_tables, ask):
    raises(r"not known after missing='augment'.* sample_networks", ask, of_two_tables)
    assert not hasattr(of_two_tables, "log_evidence_")


def test_tables_that_cannot_be_completed_are_refused():
    rows = table(9)
    raises("missing='augment'", GaussianBNPosterior().fit, rows)
    raises(r"no value: all 60 are missing", augmented, np.where(np.arange(4) == 1, np.nan, rows))
    half = np.arange(60)[:, np.newaxis] < 30
    apart = np.where(np.where(half, [1, 1, 0, 1], [1, 1, 1, 0]), table(9, share=0.0), np.nan)
    raises(r"Columns 2 and 3 are never observed together.* Leave", augmented, apart)
    with pytest.warns(MissingValuesWarning, match="1 of 61 rows of X have no value"):
        more = augmented(np.vstack([rows, np.full(4, np.nan)]), n_imputations=2)
    same = augmented(rows, n_imputations=2)
    np.testing.assert_array_equal(more.edge_probabilities_, same.edge_probabilities_)
    kept = np.arange(60) < 50
    weighted = augmented(rows, 1.0 * kept, n_imputations=2)
    few = augmented(rows[:50], n_imputations=2)
    np.testing.assert_array_equal(weighted.edge_probabilities_, few.edge_probabilities_)


def test_effects_are_means_over_the_completed_tables():
    """Those of a posterior of each table: exact paths, and effects up to the draws."""
    posterior = GaussianBNPosterior(missing="augment", n_imputations=3, random_state=1)
    effects = posterior.fit(table(60)).effects(n_samples=2000, random_state=0)
    own = [
        GaussianBNPosterior(BGe(nu=posterior.criterion_.nu)).fit(rows)
        for rows in posterior.imputed_tables_
    ]
    of_tables = [each.effects(n_samples=2000, random_state=0) for each in own]
    paths = np.mean([each.path_probabilities_ for each in own], axis=0)
    assert_allclose(effects.path_probabilities, paths, atol=1e-9)
    assert_allclose(effects.mean, np.mean([each.mean for each in of_tables], axis=0), atol=0.02)
    variance = np.mean([each.std**2 + each.mean**2 for each in of_tables], axis=0)
    assert_allclose(effects.std, np.sqrt(variance - effects.mean**2), rtol=0.1, atol=0.02)
    assert (effects.standard_error >= 0).all()
    one = posterior.effect(0, 1, n_samples=2000, random_state=0)
    assert one.mean == effects[0, 1].mean
    few = posterior.effect(0, 1, n_samples=2, random_state=0)
    assert np.isfinite(few.mean)


# Other kinds of tables


def probabilities_by_complete_posteriors(rows, hole, grid, **given):
    """Edge probabilities, with one hole on a grid, by the exact posteriors of complete tables."""
    log_evidence, edges = [], []
    settings = given.pop("settings", {})
    for value in grid:
        complete = rows.copy()
        complete[hole] = value
        posterior = GaussianBNPosterior(BGe(nu=np.nanmean(rows, axis=0)), **settings)
        posterior.fit(complete, **given)
        log_evidence.append(posterior.log_evidence_)
        edges.append(posterior.edge_probabilities_)
    weights = np.exp(np.array(log_evidence) - max(log_evidence))
    return np.average(edges, axis=0, weights=weights)


KINDS_ALONE = ["interventions", "exogenous", "sampling"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind", ["both", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS_ALONE)]
)
def test_probabilities_of_other_tables_are_those_of_quadrature(kind):
    rows = rows_in_a_chain(16)
    rows[0] = 2.5, np.nan, 1.5
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[:4, 0 if kind == "interventions" else 2] = True
    is_set[0] &= kind == "interventions"  # a row needs a value that is not given
    settings = {"exogenous": [0]} if kind in ("exogenous", "both") else {}
    given = {"interventions": is_set} if kind in ("interventions", "both") else {}
    grid = np.linspace(-7, 8, 31)
    expected = probabilities_by_complete_posteriors(rows, (0, 1), grid, settings=settings, **given)
    n = 50
    if kind == "sampling":
        n, settings = 20, {"method": "sampling", "n_samples": 200, "n_chains": 2}
    posterior = augmented(rows, n_imputations=n, **settings, **given)
    difference = abs(posterior.edge_probabilities_ - expected)
    assert (difference <= 4.5 * posterior.edge_standard_errors_ + 0.01).all()
    assert difference.max() < (0.15 if kind == "sampling" else 0.06)
    (network,) = posterior.sample_networks(1, random_state=0)
    assert network.exogenous == settings.get("exogenous", [])


def test_holes_are_drawn_with_the_arrows_into_targets_cut():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 3)) @ np.array([[1, 0.9, 0.5], [0, 1, 0.8], [0, 0, 1]])
    network = GaussianBNLearner(required_edges=[(0, 1), (1, 2), (0, 2)]).fit(rows).network_
    model = network._model()
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[:10, 1] = is_set[5:15, 2] = True
    holes = rows.copy()
    holes[:, 0] = np.nan
    holes[15:, 2] = np.nan
    means = filled(model, Nodes.of_single_columns(range(3)), holes, None, is_set)
    for row, given, own in zip(holes, is_set, means, strict=True):
        parameters = model.coef, model.intercept, model.noise_variance
        free, mean, covariance = reference.distribution_given(row, given, *parameters)
        seen, hidden = np.flatnonzero(~np.isnan(row[free])), free[np.isnan(row[free])]
        expected, _ = reference.conditional(mean, covariance, seen, row[free[seen]])
        np.testing.assert_allclose(own[hidden], expected, atol=1e-12)


def test_whole_weights_repeat_rows():
    rows = table(10)
    weight = np.random.default_rng(0).integers(0, 3, len(rows)).astype(float)
    weighted = augmented(rows, weight, n_imputations=2)
    repeated = augmented(np.repeat(rows, weight.astype(int), axis=0), n_imputations=2)
    np.testing.assert_array_equal(weighted.edge_probabilities_, repeated.edge_probabilities_)
    assert len(weighted.imputed_tables_[0]) == weight.sum()
    message = r"row 0 has sample_weight 0\.5: a part of a row has no"
    raises(message, augmented, rows, np.full(60, 0.5))


def test_categories_come_back_by_their_nearest_levels():
    rows = table(11, n=80)
    X = pd.DataFrame(rows, columns=[*"abcd"])
    levels = np.where(rows[:, 2] > 0.4, "high", "low").astype(object)
    X["c"] = pd.Categorical(np.where(np.isnan(rows[:, 2]), None, levels))
    posterior = augmented(X, nodes="auto", n_imputations=2)
    assert {*posterior.imputed_tables_[0][:, 2]} == {"high", "low"}
    seen = ~np.isnan(rows)
    for complete in posterior.imputed_tables_:
        np.testing.assert_array_equal(complete[seen], X.to_numpy(dtype=object)[seen])
    assert posterior.sample_networks(2, random_state=0)[1].nodes == [*"abcd"]
    whole = X.dropna()
    few = X.loc[whole.index].copy()
    few.iloc[0, 2] = None
    exact = GaussianBNPosterior(nodes="auto").fit(whole)
    near = augmented(few, nodes="auto", n_imputations=2)
    assert abs(near.edge_probabilities_ - exact.edge_probabilities_).max() < 0.1


def test_predictions_of_a_completed_table():
    """Given each completed table the density is known; holes of new rows are integrated out."""
    nu = np.zeros(3)
    rows, new = table(1, m=3), table(2, m=3, n=4, share=0.0)
    posterior = GaussianBNPosterior(BGe(nu=nu), missing="augment", n_imputations=3, random_state=0)
    posterior.fit(rows)
    own = [GaussianBNPosterior(BGe(nu=nu)).fit(each) for each in posterior.imputed_tables_]
    expected = np.log(np.mean([np.exp(4 * each.score(new)) for each in own])) / 4
    assert posterior.score(new) == pytest.approx(expected, abs=0.05)
    grid, hole = np.linspace(-8, 8, 20), new[:1].copy()
    hole[0, 2] = np.nan
    filled = np.repeat(new[:1], len(grid), axis=0)
    filled[:, 2] = grid
    densities = [np.exp(own[0].score(filled[i : i + 1])) for i in range(20)]
    expected = np.log(np.sum(densities) * (grid[1] - grid[0]))
    assert posterior.score(hole) == pytest.approx(expected, abs=0.1)
