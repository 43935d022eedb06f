"""GaussianBNPosterior, as users call it."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from agreement import raises
from numpy.testing import assert_allclose, assert_array_equal
from problems import problem
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from skbn import BIC, BGe, Criterion, GaussianBNLearner, GaussianBNPosterior, LocalScoreTransformer
from skbn._posterior.answers import median_network
from skbn.datasets import make_gaussian_network
from skbn.exceptions import ApproximateEvidenceWarning, OrderPriorWarning

NAMES = ["alcohol", "proline", "hue", "ash", "magnesium"]


@pytest.fixture(scope="module")
def wine():
    table = load_wine(as_frame=True).data[NAMES]
    return StandardScaler().set_output(transform="pandas").fit_transform(table)


@pytest.fixture(scope="module")
def fitted(wine):
    return GaussianBNPosterior().fit(wine)


@pytest.fixture(scope="module")
def enumerated(wine):
    scores = LocalScoreTransformer("bge").fit_transform(wine)
    return reference.posterior_by_enumeration(reference.log_weights_of(scores), "uniform")


def assert_same_posterior(found, expected, atol=1e-12):
    assert_allclose(found.edge_probabilities_, expected.edge_probabilities_, rtol=0, atol=atol)
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-13)


def test_attributes_and_the_table_of_pairs_are_those_of_enumeration(fitted, enumerated, wine):
    edges, paths = enumerated.edges, enumerated.paths
    assert_allclose(fitted.edge_probabilities_, edges, atol=1e-12)
    assert_allclose(fitted.path_probabilities_, paths, atol=1e-12)
    evidence = enumerated.log_evidence - np.log(reference.weight_of_dags(5))
    assert fitted.log_evidence_ == pytest.approx(evidence, rel=1e-13)
    assert fitted.structure_prior_ == "uniform"
    assert isinstance(fitted.criterion_, BGe)
    table = fitted.to_frame()
    pairs = [frozenset(pair) for pair in zip(table.parent, table.child, strict=True)]
    assert len(pairs) == len({*pairs}) == 10
    assert table.joined.is_monotonic_decreasing
    assert (table.probability >= table.reverse).all()
    for row in table.itertuples():
        i, j = NAMES.index(row.parent), NAMES.index(row.child)
        found = row.joined, row.probability, row.reverse, row.path, row.reverse_path
        expected = edges[i, j] + edges[j, i], edges[i, j], edges[j, i], paths[i, j], paths[j, i]
        assert found == pytest.approx(expected, abs=1e-12)
    by_order = GaussianBNPosterior(structure_prior="order").fit(wine)
    assert list(by_order.to_frame()) == ["parent", "child", "joined", "probability", "reverse"]
    assert by_order.structure_prior_ == "order"
    assert not hasattr(by_order, "path_probabilities_")


@pytest.mark.parametrize("alpha_w", [7, 100, 1e4])
def test_probabilities_have_digits_up_to_the_largest_alpha_w(alpha_w):
    rows = make_gaussian_network(4, n_samples=50, random_state=1)[0]
    rows = (rows - rows.mean(0)) / rows.std(0)
    weights = reference.bge_log_weights(rows, alpha_w=alpha_w)
    expected = reference.posterior_by_enumeration(weights, "uniform")
    found = GaussianBNPosterior(BGe(alpha_w=alpha_w)).fit(rows)
    assert_allclose(found.edge_probabilities_, expected.edges, rtol=0, atol=1e-11)


@pytest.mark.filterwarnings("ignore::skbn.exceptions.SampleWeightWarning")
@pytest.mark.parametrize("n_samples", [1e2, 1.2e8, 3e8, 1.9e9])
@pytest.mark.parametrize(("m", "limits"), [(2, {}), (2, {"max_parents": 1}), (3, {})])
def test_tables_of_many_counts_have_the_enumerated_probabilities(m, limits, n_samples):
    rows = np.random.default_rng(m).normal(size=(40, m))
    rows = np.linalg.qr(rows - rows.mean(0))[0] * np.sqrt(40)
    rows[:, 1:] += 2 * np.sqrt(np.log(n_samples) / n_samples) * rows[:, :-1]  # an edge in doubt
    weights = reference.bge_log_weights(rows, repeats=n_samples / 40)
    expected = reference.posterior_by_enumeration(weights, "uniform")
    found = GaussianBNPosterior(**limits).fit(rows, sample_weight=np.full(40, n_samples / 40))
    atol = 1e-13 * n_samples
    assert_allclose(found.edge_probabilities_, expected.edges, rtol=0, atol=atol)


def test_parent_sets_are_the_most_probable_ones(fitted, enumerated):
    for x, name in enumerate(NAMES):
        top = fitted.parent_set_probabilities(name, k=4)
        known = enumerated.parent_sets[x]
        found = [each.probability for each in top]
        masks = [sum(1 << NAMES.index(p) for p in each.parents) for each in top]
        assert found == pytest.approx(sorted(known.values(), reverse=True)[:4], abs=1e-12)
        assert found == pytest.approx([known[mask] for mask in masks], abs=1e-12)
    all_sets = fitted.parent_set_probabilities("hue", k=1000)
    assert len(all_sets) == 16
    assert sum(each.probability for each in all_sets) == pytest.approx(1)
    assert list(pd.DataFrame(all_sets).columns) == ["parents", "probability"]
    assert repr(all_sets).startswith("Parents of 'hue', most probable first\nprobability  parents")


def dag_of(masks):
    dag = nx.empty_graph(len(masks), nx.DiGraph)
    dag.add_edges_from((p, x) for x, mask in enumerate(masks) for p in reference.members_of(mask))
    return dag


def test_probability_of_a_network(fitted, enumerated):
    best = int(np.argmax(enumerated.probabilities))
    learned = GaussianBNLearner("bge").fit(pd.DataFrame(fitted.local_scores_.sample.rows)).dag_
    for dag in (dag_of(enumerated.networks[best].tolist()), learned):
        expected = pytest.approx(np.log(enumerated.probabilities[best]), abs=1e-11)
        assert fitted.log_probability(nx.relabel_nodes(dag, NAMES.__getitem__)) == expected


@pytest.mark.parametrize("prior", ["uniform", "order"])
@pytest.mark.parametrize("settings", [{}, {"max_parents": 1}, {"edge_prior": 0.3}])
def test_probabilities_of_all_networks_sum_to_1(wine, prior, settings):
    posterior = GaussianBNPosterior(structure_prior=prior, **settings).fit(wine[NAMES[:3]])
    dags = map(dag_of, reference.dag_table(3).parents.tolist())
    logs = [posterior.log_probability(dag) for dag in dags]
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


NOT_TO_PROLINE = pd.DataFrame([[1, 0, 1], [1, 1, 1], [1, 1, 1]], NAMES[:3], NAMES[:3])


@pytest.mark.parametrize(
    "settings",
    [
        {"forbidden_edges": [("alcohol", "proline")]},
        {"required_edges": [("alcohol", "hue")]},
        {"max_parents": 0},
        {"tiers": [["hue"], ...]},
        {"edge_prior": NOT_TO_PROLINE},
    ],
)
def test_ruled_out_networks_have_probability_0(wine, settings):
    chain = nx.DiGraph([("alcohol", "proline"), ("proline", "hue")])
    posterior = GaussianBNPosterior(**settings).fit(wine[NAMES[:3]])
    assert posterior.log_probability(chain) == -np.inf


def test_median_network_has_the_probable_edges(fitted):
    dag = fitted.predict()
    assert list(dag) == NAMES
    either = fitted.edge_probabilities_ + fitted.edge_probabilities_.T
    joined = nx.to_numpy_array(dag.to_undirected(), weight=None)
    assert_array_equal(joined, either > 0.5)
    assert joined.sum() > 2
    for parent, child, data in dag.edges(data=True):
        i, j = NAMES.index(parent), NAMES.index(child)
        assert data["probability"] == fitted.edge_probabilities_[i, j]
        assert data["joined"] == min(either[i, j], 1.0)
        assert data["weight"] == fitted.median_network_.coef_[i, j]
    dag.clear()
    assert fitted.predict().number_of_edges() == joined.sum() / 2


def test_pairs_are_joined_before_they_are_directed():
    rng = np.random.default_rng(0)
    scores = LocalScoreTransformer("bge").fit_transform(rng.normal(size=(9, 3)))
    # Each way alone is improbable, or the probable ones are a cycle.
    open_pair = np.array([[0, 0.4, 0], [0.39, 0, 0], [0, 0.1, 0]])
    cycle = np.array([[0, 0.9, 0], [0, 0, 0.8], [0.7, 0, 0]])
    two, one = (problem(scores, max_parents=most) for most in (2, 1))
    assert [*median_network(two, open_pair).dag.edges(data="joined")] == [(0, 1, 0.79)]
    assert len(median_network(two, cycle).dag.edges) == 3
    assert {*median_network(one, cycle).dag.to_undirected().edges} == {(0, 1), (1, 2)}


def test_auto_takes_the_order_prior_where_uniform_takes_too_long(wine, monkeypatch):
    monkeypatch.setattr("skbn._posterior.plan.UNIFORM_LIMIT", 3**4)
    with pytest.warns(OrderPriorWarning, match="took the order prior"):
        posterior = GaussianBNPosterior().fit(wine)
    assert posterior.structure_prior_ == "order"
    GaussianBNPosterior(structure_prior="order").fit(wine)
    GaussianBNPosterior(structure_prior="uniform").fit(wine)
    GaussianBNPosterior().fit(wine[NAMES[:4]])


def test_own_criteria_must_say_what_they_are(wine, fitted):
    class Own(Criterion):
        def tables(self, n_samples, m):
            return BGe().tables(n_samples, m)

        def prior(self, n_samples, mean):
            return BGe().prior(n_samples, mean)

    raises("the exponential of Own is no marginal likelihood", GaussianBNPosterior(Own()).fit, wine)

    class Declared(Own):
        marginal_likelihood = "exact"

    found = GaussianBNPosterior(Declared()).fit(wine).edge_probabilities_
    assert_array_equal(found, fitted.edge_probabilities_)


def test_local_scores_take_the_place_of_the_table(wine, fitted):
    scores = LocalScoreTransformer("bge").fit_transform(wine)
    for criterion, X in (("bge", scores), (None, scores), (None, wine)):
        found = GaussianBNPosterior(criterion).fit(X)
        assert isinstance(found.criterion_, BGe)
        assert_array_equal(found.edge_probabilities_, fitted.edge_probabilities_)
    raises(r"criterion=.* was asked for", GaussianBNPosterior(BGe(alpha_mu=2)).fit, scores)
    by_bic, message = LocalScoreTransformer().fit_transform(wine), "BIC only approximates"
    with pytest.warns(ApproximateEvidenceWarning, match=message):
        found = GaussianBNPosterior().fit(by_bic)  # which keep their criterion
    with pytest.warns(ApproximateEvidenceWarning, match=message):
        expected = GaussianBNPosterior("bic").fit(wine)
    assert isinstance(found.criterion_, BIC)
    assert_array_equal(found.edge_probabilities_, expected.edge_probabilities_)
    bge, message = GaussianBNPosterior("bge"), "criterion='bge' was asked for.* criterion=None here"
    raises(message, bge.fit, by_bic, sample_weight=np.ones(len(wine)))


def test_methods_use_what_fit_was_given(wine):
    odds = np.full((5, 5), 0.5)
    posterior = GaussianBNPosterior(edge_prior=odds, forbidden_edges=[("hue", "ash")]).fit(wine)
    expected = posterior.log_probability(posterior.predict()), posterior.score(wine)
    odds[:] = 100.0
    posterior.set_params(max_parents=0, structure_prior="order", forbidden_edges=None, tiers=None)
    found = posterior.log_probability(posterior.predict()), posterior.score(wine)
    assert found == expected


def test_scores_of_few_parents_condition_on_few_parents(wine):
    few = LocalScoreTransformer("bge", max_parents=1).fit_transform(wine)
    found = GaussianBNPosterior().fit(few)
    expected = GaussianBNPosterior(max_parents=1).fit(wine)
    assert_same_posterior(found, expected)


def test_score_is_the_mean_log_density_of_new_rows(wine):
    rows = wine.to_numpy()
    first, more = rows[:100], rows[100:]
    posterior = GaussianBNPosterior().fit(first)
    nu = first.mean(axis=0)
    evidence = [GaussianBNPosterior(BGe(nu=nu)).fit(some).log_evidence_ for some in (first, rows)]
    expected = (evidence[1] - evidence[0]) / len(more)
    assert posterior.score(more) == pytest.approx(expected, rel=1e-10)
    # Chunk by chunk the densities multiply.
    half = GaussianBNPosterior(BGe(nu=nu)).fit(rows[:140])
    parts = 40 * posterior.score(rows[100:140]) + 38 * half.score(rows[140:])
    assert parts == pytest.approx(78 * posterior.score(more), rel=1e-10)
    # A row of weight 2 is two rows.
    weighted = posterior.score(more[:2], sample_weight=[2, 1])
    assert weighted == pytest.approx(posterior.score(more[[0, 0, 1]]), rel=1e-12)


def test_fewer_rows_than_columns_are_enough_for_bge():
    rows = np.random.default_rng(0).normal(size=(3, 6))
    found = GaussianBNPosterior().fit(rows).edge_probabilities_
    assert ((found >= 0) & (found <= np.ones((6, 6)))).all()


@pytest.mark.parametrize(
    ("edge_prior", "message"),
    [
        (-1.0, "edge_prior"),
        (-np.ones((5, 5)), r"'alcohol' -> 'proline' is -1\.0"),
        (np.full((5, 5), np.inf), r"'alcohol' -> 'proline' is inf"),
        (pd.DataFrame(np.ones((5, 5)), NAMES, [*NAMES[:4], "hue"]), "name each column once"),
    ],
)
def test_bad_edge_priors_are_refused(wine, edge_prior, message):
    raises(message, GaussianBNPosterior(edge_prior=edge_prior).fit, wine)


def test_edge_priors_go_by_label_and_odds_of_0_forbid(wine):
    odds = np.random.default_rng(0).uniform(0.1, 2, size=(5, 5))
    plain = GaussianBNPosterior(edge_prior=odds).fit(wine)
    order = [3, 1, 4, 0, 2]
    frame = pd.DataFrame(odds, NAMES, NAMES).iloc[order, order[::-1]]
    labelled = GaussianBNPosterior(edge_prior=frame).fit(wine)
    assert_array_equal(plain.edge_probabilities_, labelled.edge_probabilities_)
    odds = pd.DataFrame(1.0, NAMES, NAMES)
    odds.loc["hue", "ash"] = 0
    found = GaussianBNPosterior(edge_prior=odds).fit(wine)
    expected = GaussianBNPosterior(forbidden_edges=[("hue", "ash")]).fit(wine)
    assert_same_posterior(found, expected, atol=1e-13)


@pytest.mark.parametrize("tiers", [[NAMES[:2], NAMES[2:]], [NAMES[:1], NAMES[1:4], NAMES[4:]]])
def test_edge_priors_of_groups(wine, tiers, monkeypatch):
    odds = np.random.default_rng(0).uniform(0.1, 2, size=(5, 5))
    for edge_prior in (0.5, odds):
        settings = {"edge_prior": edge_prior, "tiers": tiers, "structure_prior": "uniform"}
        whole = GaussianBNPosterior(**settings).fit(wine)
        with monkeypatch.context() as patch:
            patch.setattr("skbn._posterior.plan._MOST_IN_ONE_GROUP", 1)
            groups = GaussianBNPosterior(**settings).fit(wine)
        assert_same_posterior(groups, whole)


def test_parent_sets_that_are_ruled_out_are_not_listed(wine):
    posterior = GaussianBNPosterior(max_parents=1, forbidden_edges=[("ash", "hue")]).fit(wine)
    listed = [parents for parents, _ in posterior.parent_set_probabilities("hue", k=100)]
    assert sorted(listed) == [[], ["alcohol"], ["magnesium"], ["proline"]]


@pytest.mark.parametrize(
    ("method", "arguments", "error", "message"),
    [
        ("parent_set_probabilities", ["colour"], ValueError, "colour"),
        ("parent_set_probabilities", ["hue", 0], ValueError, "k must be at least 1; got 0"),
        ("parent_set_probabilities", ["hue", 1.5], TypeError, "k must be an int"),
        ("effect", ["hue", "hue"], ValueError, "cause and outcome must differ; both are 'hue'"),
        ("effect", ["hue", "colour"], ValueError, "colour"),
        ("log_probability", [nx.DiGraph([("hue", "ash"), ("ash", "hue")])], ValueError, "cycle"),
        ("log_probability", [nx.DiGraph([("hue", "ash")])], ValueError, "column"),
        ("log_probability", [[("hue", "ash")]], TypeError, "DiGraph"),
        ("sample_dags", [0], ValueError, "n_samples must be at least 1; got 0"),
        ("probability", [nx.is_directed_acyclic_graph, 1], ValueError, "at least 2"),
        ("probability", [lambda dag: "yes"], ValueError, "feature returns must be a finite number"),
        ("probability", [lambda dag: 10**400], ValueError, "feature returns must be a finite"),
        ("probability", ["edges"], TypeError, "feature must be a function of a network"),
        ("sample_dags", [10**14], ValueError, "A sample of 100000000000000 networks needs"),
    ],
)
def test_bad_arguments(fitted, method, arguments, error, message):
    raises(message, getattr(fitted, method), *arguments, kind=error)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        *((method, ()) for method in ("predict", "effects", "sample_dags", "sample_networks")),
        ("score", ([[0, 1]],)),
        ("effect", (0, 1)),
        ("log_probability", (nx.DiGraph([(0, 1)]),)),
        ("parent_set_probabilities", (0,)),
        ("probability", (len,)),
    ],
)
def test_methods_need_a_fit(method, arguments):
    raises("not fitted", getattr(GaussianBNPosterior(), method), *arguments, kind=NotFittedError)


def test_scores_that_differ_by_too_much_are_refused():
    class Huge(Criterion):
        marginal_likelihood = "exact"

        def tables(self, n_samples, m):
            half_n = np.full(m, 1e8)
            return np.array([np.zeros(m), half_n, -half_n])

    rows = make_gaussian_network(4, n_samples=100, random_state=0)[0]
    raises(r"differ by up to .* nats in all, too much", GaussianBNPosterior(Huge()).fit, rows)


def collinear(kind):
    """Return a table in which a family of up to two parents leaves no residual, and its nodes."""
    rows = np.random.default_rng(0).normal(size=(50, 4))
    if kind in ("complementary", "nodes"):
        rows[:, 0] = np.tile([0.0, 1.0, 1.0, 0.0, 1.0], 10)
    rows[:, 3] = {
        "the same": rows[:, 0],
        "other units": 0.1 * rows[:, 0],
        "nearly the same": rows[:, 0] + 1e-14 * rows[:, 3],
        "a sum": rows[:, 0] + rows[:, 1],
    }.get(kind, 1 - rows[:, 0])
    return rows, [0, 1, 1, 2] if kind == "nodes" else None


@pytest.mark.filterwarnings("ignore")  # BIC approximates, and 0/1 columns have parents
@pytest.mark.parametrize("criterion", ["bic", "ebic"])
@pytest.mark.parametrize(
    "settings", [{}, {"structure_prior": "order"}, {"method": "sampling", "n_samples": 100}]
)
@pytest.mark.parametrize("is_experiment", [False, True])
@pytest.mark.parametrize(
    "kind", ["the same", "other units", "nearly the same", "a sum", "complementary", "nodes"]
)
def test_collinear_columns_are_refused_with_max_parents(kind, is_experiment, settings, criterion):
    rows, nodes = collinear(kind)
    interventions = [[2 if nodes is None else 1]] * 10 + [[]] * 40 if is_experiment else None
    limits = {"max_parents": 1 + (kind == "a sum"), "nodes": nodes}
    for estimator in (
        GaussianBNLearner(criterion, **limits),
        GaussianBNPosterior(criterion, **limits, **settings),
    ):
        raises("is collinear with", estimator.fit, rows, interventions=interventions)


# Samples


def test_sampled_networks_have_parameters(fitted, wine):
    networks = fitted.sample_networks(300, random_state=0)
    assert all(network.dag.number_of_nodes() == 5 for network in networks)
    assert_allclose(np.mean([each.mean_ for each in networks], axis=0), wine.mean(), atol=0.05)
    assert len({network.score(wine) for network in networks}) == 300


def test_probability_of_a_feature(fitted):
    def has_path(dag):
        return nx.has_path(dag, "alcohol", "hue")

    estimate = fitted.probability(has_path, n_samples=2000, random_state=0)
    exact = fitted.path_probabilities_[NAMES.index("alcohol"), NAMES.index("hue")]
    assert abs(estimate.value - exact) < 5 * estimate.standard_error
    assert estimate.n_samples == 2000
    certain = fitted.probability(nx.is_directed_acyclic_graph, n_samples=10)
    assert certain == (1.0, 0.0, 10)
