import networkx as nx
import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import (
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScoreTransformer,
    NetworkDisplay,
)
from skbn._networks._display import _standardised_weights
from skbn._networks._layout import layered_layout


@pytest.fixture(scope="module")
def learner():
    return GaussianBNLearner().fit(load_wine(as_frame=True).data)


def test_layout_puts_parents_above_children(learner):
    layout = layered_layout(learner.dag_)
    for parent, child in learner.dag_.edges:
        assert layout.positions[parent][1] > layout.positions[child][1]
        route = layout.routes[parent, child]
        assert route[0] == layout.positions[parent]
        assert route[-1] == layout.positions[child]
        depths = [y for _, y in route]
        assert depths == list(np.arange(depths[0], depths[-1] - 1, -1))
    corners = [p for route in layout.routes.values() for p in route[1:-1]]
    assert len({*layout.positions.values(), *corners}) == len(layout.positions) + len(corners)


def test_layout_is_repeatable(learner):
    assert layered_layout(learner.dag_) == layered_layout(learner.dag_.copy())


def test_layout_uncrosses_what_can_be_uncrossed():
    dag = nx.DiGraph([("a", "y"), ("b", "x"), ("a", "z"), ("b", "w")])
    positions = layered_layout(dag).positions
    assert (positions["a"] < positions["b"]) == (
        max(positions["y"], positions["z"]) < min(positions["x"], positions["w"])
    )


def test_picture_has_all_nodes_and_edges(learner, tmp_path):
    display = NetworkDisplay.from_estimator(learner)
    labels = {text.get_text().replace("\n", "_") for text in display.ax_.texts}
    assert labels == set(learner.dag_)
    from matplotlib.patches import FancyArrowPatch

    arrows = [patch for patch in display.ax_.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == learner.dag_.number_of_edges()
    display.figure_.savefig(tmp_path / "wine.png")
    assert (tmp_path / "wine.png").stat().st_size > 10_000


def test_weights_are_standardised_by_the_implied_deviations():
    rows = reference.random_network_rows(np.random.default_rng(0), 5, 300) * [1, 10, 0.1, 5, 2]
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    weights = _standardised_weights(GaussianBNLearner("loglik").fit(rows).dag_)
    expected = GaussianBNLearner("loglik").fit(scaled).dag_
    assert list(weights) == list(expected.edges)
    for (parent, child), weight in weights.items():
        assert weight == pytest.approx(expected.edges[parent, child]["weight"])


def test_edges_show_the_sign_and_the_strength():
    dag = nx.DiGraph()
    dag.add_nodes_from("abc", intercept=0.0, noise_variance=1.0)
    dag.add_edge("a", "b", weight=3.0)
    dag.add_edge("a", "c", weight=-0.1)
    display = NetworkDisplay(dag).plot()
    strong, weak = display.ax_.patches
    assert strong.get_edgecolor()[2] > strong.get_edgecolor()[0]  # blue
    assert weak.get_edgecolor()[0] > weak.get_edgecolor()[2]  # orange
    assert strong.get_linewidth() > 2 * weak.get_linewidth()


def test_edges_of_a_class_are_grey_and_the_undirected_have_no_head():
    dag = nx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])
    display = NetworkDisplay(GaussianBayesianNetwork(dag).cpdag()).plot()
    arrows = display.ax_.patches
    assert len({arrow.get_linewidth() for arrow in arrows}) == 1
    for arrow in arrows:
        red, green, blue, _ = arrow.get_edgecolor()
        assert red == green == blue
    heads = [type(arrow.get_arrowstyle()).__name__ for arrow in arrows]
    assert heads == ["CurveFilledB", "CurveFilledB", "Curve"]


def test_networks_are_drawn_also_after_an_intervention(learner, tmp_path):
    network = GaussianBayesianNetwork(learner.dag_).do({"proline": 700, "hue": 1})
    display = NetworkDisplay.from_estimator(network)
    display.figure_.savefig(tmp_path / "do.png")
    weights = _standardised_weights(network.dag_)
    assert np.isfinite(list(weights.values())).all()
    deviation = dict(zip(network.nodes, np.sqrt(np.diag(network.covariance_)), strict=True))
    for (parent, child), weight in weights.items():
        raw = network.dag_.edges[parent, child]["weight"]
        assert weight == pytest.approx(raw * deviation[parent] / deviation[child])
    held = {edge for edge, weight in weights.items() if weight == 0}
    assert {parent for parent, _ in held} == {"proline"}  # hue has no children


def test_edges_out_of_held_nodes_keep_the_colour_of_their_sign():
    dag = nx.DiGraph()
    dag.add_nodes_from("abcd", intercept=0.0, noise_variance=1.0)
    dag.add_weighted_edges_from([("a", "b", 3.0), ("a", "c", -3.0), ("a", "d", 0.0)])
    network = GaussianBayesianNetwork(dag).do({"a": 1.0})
    arrows = NetworkDisplay.from_estimator(network).ax_.patches
    (red, _, blue, _), (other_red, _, other_blue, _), grey = (a.get_edgecolor() for a in arrows)
    assert blue > red
    assert other_red > other_blue
    assert len(set(grey[:3])) == 1
    assert {arrow.get_linewidth() for arrow in arrows} == {0.8}


def test_weights_alone_are_drawn_as_no_parameters():
    dag = nx.from_numpy_array(np.array([[0, 2.0], [0, 0]]), create_using=nx.DiGraph)
    (arrow,) = NetworkDisplay(dag).plot().ax_.patches
    assert len(set(arrow.get_edgecolor()[:3])) == 1


def test_weights_of_variances_out_of_range():
    dag = nx.DiGraph()
    dag.add_nodes_from("abc", intercept=0.0, noise_variance=1.0)
    dag.add_weighted_edges_from([("a", "b", -1e200), ("b", "c", 1e100)])
    weights = _standardised_weights(dag)
    assert weights == pytest.approx({("a", "b"): -1.0, ("b", "c"): 1.0})


def test_given_axes_are_used(learner):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert NetworkDisplay.from_estimator(learner, ax=ax).ax_ is ax


def test_single_and_unjoined_nodes():
    rows = np.random.default_rng(0).normal(size=(500, 4))
    learner = GaussianBNLearner(penalty=5).fit(rows)
    assert len(NetworkDisplay.from_estimator(learner).ax_.texts) == 4


def test_weights_of_hard_units():
    rows = reference.random_network_rows(np.random.default_rng(0), 3, 300)
    plain = _standardised_weights(GaussianBNLearner("loglik").fit(rows).dag_)
    hard = _standardised_weights(GaussianBNLearner("loglik").fit(rows * [1e-150, 1, 1e150]).dag_)
    assert hard == pytest.approx(plain)


def test_names_are_drawn_as_they_are(tmp_path):
    names = [r"$\frac$", "price in $ and $", "a_name_that_is_much_longer_than_the_others"]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=names)
    display = NetworkDisplay.from_estimator(GaussianBNLearner("loglik").fit(rows))
    display.figure_.savefig(tmp_path / "names.png")
    drawn = [text.get_text() for text in display.ax_.texts]
    assert drawn[:2] == names[:2]
    assert drawn[2] == "a_name_that_is\nmuch_longer\nthan_the\nothers"


def with_parameters(noise_variance=1.0, **edge):
    dag = nx.DiGraph()
    dag.add_nodes_from("ab", intercept=0.0, noise_variance=noise_variance)
    dag.add_edge("a", "b", **edge)
    return dag


@pytest.mark.parametrize(
    ("dag", "error", "message"),
    [
        (nx.DiGraph(), ValueError, "at least one node"),
        (nx.Graph([(0, 1)]), TypeError, "must be a networkx.DiGraph .*; got Graph"),
        (nx.MultiDiGraph([(0, 1)]), TypeError, "got MultiDiGraph"),
        (nx.DiGraph([(0, 1), (1, 0)]), ValueError, "acyclic"),
        (with_parameters(), ValueError, "edge 'a' -> 'b' has no attribute weight"),
        (with_parameters(weight=np.nan), ValueError, "weight of edge 'a' -> 'b' .* got nan"),
        (with_parameters(weight=1, noise_variance=-1), ValueError, "'a' must not be negative"),
        (GaussianBayesianNetwork(with_parameters()), TypeError, "is NetworkDisplay.from_estimator"),
    ],
)
def test_bad_graphs_are_named(dag, error, message):
    with pytest.raises(error, match=message):
        NetworkDisplay(dag)


def test_networks_at_the_end_of_pipelines_and_searches(learner):
    rows = load_wine(as_frame=True).data
    penalty = {"penalty": [1.0]}
    for estimator in (
        GaussianBNLearnerCV([1.0], cv=2),
        make_pipeline(LocalScoreTransformer(), GaussianBNLearner()),
        GridSearchCV(GaussianBNLearner(), penalty, cv=2),
        GridSearchCV(make_pipeline(GaussianBNLearner()), {"gaussianbnlearner__penalty": [1.0]}),
        make_pipeline(StandardScaler(), GridSearchCV(GaussianBNLearner(), penalty, cv=2)),
    ):
        with pytest.raises(NotFittedError):
            NetworkDisplay.from_estimator(estimator)
        display = NetworkDisplay.from_estimator(estimator.fit(rows))
        assert display.dag.number_of_edges() == learner.dag_.number_of_edges()


def test_other_estimators_are_named():
    rows = np.random.default_rng(0).normal(size=(9, 2))
    for estimator in (StandardScaler(), make_pipeline(LocalScoreTransformer(), StandardScaler())):
        with pytest.raises(TypeError, match="that ends with one; got StandardScaler"):
            NetworkDisplay.from_estimator(estimator.fit(rows))


@pytest.mark.parametrize(
    "estimator", [GaussianBNLearner(), GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))]
)
def test_estimators_must_be_fitted(estimator):
    with pytest.raises(NotFittedError, match=r"[Cc]all ['`]?fit"):
        NetworkDisplay.from_estimator(estimator)
    if isinstance(estimator, GaussianBayesianNetwork):
        with pytest.raises(NotFittedError, match=r"NetworkDisplay\(network.dag\)"):
            NetworkDisplay.from_estimator(estimator)
