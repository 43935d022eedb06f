import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import weighted
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import EdgeHeatMapDisplay, GaussianBayesianNetwork, GaussianBNLearner, NetworkDisplay

OFF_DIAGONAL = ~np.eye(4, dtype=bool)
CHAIN = np.array([[0, 0.1, 0], [0.8, 0, 0.3], [0, 0.6, 0]])  # c -> b -> a is the most probable


@pytest.fixture(scope="module")
def scaled(small_wine):
    return StandardScaler().set_output(transform="pandas").fit_transform(small_wine)


@pytest.fixture(scope="module")
def posterior(scaled):
    return skbn.GaussianBNPosterior(structure_prior="order").fit(scaled)


def texts(display):
    """Return the numbers written in the cells, by (parent, child)."""
    return {
        (display.nodes[int(y)], display.nodes[int(x)]): text.get_text()
        for text in display.ax_.texts
        for x, y in [text.get_position()]
    }


def test_parents_stand_in_rows_and_children_in_columns():
    ax = Figure().subplots()
    display = EdgeHeatMapDisplay(CHAIN, ["a", "b", "c"], order="given").plot(ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.nodes == ["a", "b", "c"]
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    assert texts(display) == dict(zip(edges, ["0.10", "0.80", "0.30", "0.60"], strict=True))
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("parent", "child")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]
    assert_array_equal(display.values, np.where(np.eye(3), np.nan, CHAIN))
    assert display.im_.get_clim() == (0, 1)
    display.figure_.draw_without_rendering()
    raises(r"ax must be one matplotlib.axes.Axes", display.plot, kind=TypeError, ax=7)


def test_probable_parents_come_first_unless_a_list_orders_and_chooses_columns():
    display = EdgeHeatMapDisplay(CHAIN, "abc")
    assert display.nodes == ["c", "b", "a"]
    assert display.values[0, 1] == 0.6
    display = EdgeHeatMapDisplay(CHAIN, "abc", order=["b", "a"])
    assert display.nodes == ["b", "a"]
    assert (display.values[0, 1], display.values[1, 0]) == (0.8, 0.1)


@pytest.mark.parametrize("seed", range(3))
def test_parents_first_is_a_topological_order_of_a_graph(seed):
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(8)
    edges = np.triu(rng.random((8, 8)) * (rng.random((8, 8)) < 0.4), 1)[np.ix_(hidden, hidden)]
    nodes = EdgeHeatMapDisplay(edges).nodes
    place = np.argsort(nodes)
    assert all(place[i] < place[j] for i, j in np.argwhere(edges))


def test_data_frames_name_rows_in_any_order():
    frame = pd.DataFrame(CHAIN, index=[*"abc"], columns=[*"abc"])
    expected = EdgeHeatMapDisplay(CHAIN, "abc", order="given")
    for shuffled in (frame, frame.loc[[*"cab"]], frame.to_numpy(dtype=object)):
        display = EdgeHeatMapDisplay(shuffled, "abc", order="given")
        assert_array_equal(display.values, expected.values)
    assert EdgeHeatMapDisplay(frame, order="given").nodes == ["a", "b", "c"]
    assert EdgeHeatMapDisplay(frame[[*"cba"]], order="given").nodes == ["c", "b", "a"]
    assert EdgeHeatMapDisplay(CHAIN, order="given").nodes == [0, 1, 2]


def test_either_way_sums_both_directions():
    display = EdgeHeatMapDisplay(CHAIN, "abc").plot(either_way=True)
    assert texts(display) == dict.fromkeys([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], "0.90")
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("", "")
    both = EdgeHeatMapDisplay([[0, 0.75], [0.5, 0]], ["a", "b"]).plot()
    raises(r"'a' -> 'b' and 'b' -> 'a' exceed 1 in sum: 0\.75 and", both.plot, either_way=True)


def test_numbers_are_written_for_few_columns():
    few, many = (EdgeHeatMapDisplay(np.full((m, m), 0.01)) for m in (20, 21))
    assert len(few.plot().ax_.texts) == 20 * 19
    assert len(few.plot(numbers=False).ax_.texts) == 0
    assert len(many.plot().ax_.texts) == 0
    assert len(many.plot(numbers=True).ax_.texts) == 21 * 20
    display = EdgeHeatMapDisplay([[0, 0.004], [0.996, 0]], "ab").plot()
    assert texts(display) == {("b", "a"): "1.00"}  # where it would not read zero


def test_bad_input_is_named():
    for probabilities, options, message in [
        ([[0, 1.5], [0, 0]], {"names": "ab"}, r"edge 'a' -> 'b' must be from 0 to 1; got 1\.5"),
        ([[0, 0], [-0.1, 0]], {}, r"edge 1 -> 0 must be from 0 to 1; got -0\.1"),
        ([[0, np.nan], [0, 0]], {}, "edge 0 -> 1 must be a finite number; got nan"),
        ([["", "x"], ["", ""]], {}, "values must be numbers"),
        (np.zeros((2, 3)), {}, r"must have shape \(m, m\), .* got shape \(2, 3\)"),
        (np.zeros((0, 0)), {}, r"must have shape \(m, m\)"),
        (0.5, {}, r"must have shape \(m, m\), .* got shape \(\)"),
        (CHAIN, {"names": ["a", "b"]}, "a different name for each of the 3 columns; got"),
        (CHAIN, {"names": ["a", "b", "a"]}, "a different name for each of the 3 columns; got"),
        (pd.DataFrame(CHAIN, index=[*"abd"], columns=[*"abc"]), {}, "must have the same names"),
        (pd.DataFrame(CHAIN, index=[*"aab"], columns=[*"aab"]), {}, "must have the same names"),
        (CHAIN, {"order": "topological"}, "order must be 'parents-first', 'given' or a list"),
        (CHAIN, {"order": [0, 3]}, "order must name nodes; 3 is not one"),
        (CHAIN, {"order": [0, 0]}, "order must name nodes, each once"),
    ]:
        raises(message, EdgeHeatMapDisplay, probabilities, **options)


def test_rounding_errors_are_no_errors():
    display = EdgeHeatMapDisplay([[0, 1 + 1e-12], [-1e-12, 0]], order="given")
    assert (display.values[0, 1], display.values[1, 0]) == (1, 0)


# Posteriors


def test_probabilities_of_a_posterior(posterior):
    display = EdgeHeatMapDisplay.from_estimator(posterior, order="given", numbers=False)
    assert display.nodes == ["alcohol", "proline", "hue", "ash"]
    assert (display.values == posterior.edge_probabilities_)[OFF_DIAGONAL].all()
    assert not display.ax_.texts


def test_support_of_a_bootstrap(scaled):
    draw = EdgeHeatMapDisplay.from_estimator
    bootstrap = skbn.BootstrapBNLearner(n_resamples=5, random_state=0)
    raises("not fitted", draw, bootstrap, kind=NotFittedError)
    bootstrap.fit(scaled)
    for estimator in (bootstrap, make_pipeline(StandardScaler(), bootstrap)):
        display = draw(estimator, order="given", numbers=False)
        assert display.nodes == list(scaled)
        assert (display.values == bootstrap.edge_support_)[OFF_DIAGONAL].all()
        assert display.im_.colorbar.ax.get_ylabel() == "support of the edge"
    both = draw(bootstrap, either_way=True)
    assert both.im_.colorbar.ax.get_ylabel() == "support of either direction"
    raises("be 'probability', .* got 'p'", EdgeHeatMapDisplay, CHAIN, measure="p")
    raises("BootstrapBNLearner has no probability of", draw, bootstrap, measure="probability")
    raises("either_way sums", draw, bootstrap, measure="weight", either_way=True)


def test_pictures_of_a_posterior_show_its_median_network(posterior, scaled):
    edges = posterior.median_network_.dag.edges
    display = posterior.plot(edge_label="probability")
    assert display.edges_.keys() == set(edges)
    written = [text.get_text() for text in display.labels_.values()]
    assert written == [f"{posterior.dag_.edges[edge]['probability']:.2f}" for edge in edges]
    weights = EdgeHeatMapDisplay.from_estimator(posterior, measure="weight").values
    assert np.isfinite(weights).sum() == len(edges)
    residuals = skbn.ResidualsDisplay.from_estimator(posterior, scaled)
    expected = posterior.median_network_.residuals(scaled)["hue"]
    assert np.corrcoef(residuals.residuals[:, 2], expected)[0, 1] == pytest.approx(1)
    other = skbn.NetworkComparisonDisplay.from_networks(posterior, posterior.median_network_)
    assert len(other.common) == len(edges)
    assert "data:image/svg+xml" in posterior._repr_html_()


POSTERIOR = skbn.GaussianBNPosterior(structure_prior="order")
CRITERIA = {"criterion": [skbn.BGe(), skbn.BGe(2.0)]}
PENALTY = {"penalty": [1.0]}


@pytest.mark.parametrize(
    "estimator",
    [
        *(GaussianBNLearner(), skbn.GaussianBNLearnerCV([1.0], cv=2), POSTERIOR),
        make_pipeline(skbn.LocalScoreTransformer(), GaussianBNLearner()),
        make_pipeline(StandardScaler(), POSTERIOR),
        GridSearchCV(GaussianBNLearner(), PENALTY, cv=2),
        GridSearchCV(POSTERIOR, CRITERIA, cv=2),
        GridSearchCV(make_pipeline(GaussianBNLearner()), {"gaussianbnlearner__penalty": [1]}, cv=2),
        make_pipeline(StandardScaler(), GridSearchCV(GaussianBNLearner(), PENALTY, cv=2)),
        make_pipeline(StandardScaler(), GridSearchCV(POSTERIOR, CRITERIA, cv=2)),
    ],
)
def test_networks_at_the_end_of_pipelines_and_searches(scaled, estimator):
    estimator = clone(estimator)
    for display in (NetworkDisplay, EdgeHeatMapDisplay):
        raises("not fitted", display.from_estimator, estimator, kind=NotFittedError)
    estimator.fit(scaled)
    assert EdgeHeatMapDisplay.from_estimator(estimator).values.shape == (4, 4)
    drawn = NetworkDisplay.from_estimator(estimator)
    assert len(drawn.edges_) == 3 - ("Posterior" in repr(estimator))
    assert skbn.ResidualsDisplay.from_estimator(estimator, scaled).residuals.shape == scaled.shape


def test_other_estimators_are_named(scaled):
    for estimator in (
        StandardScaler(),
        make_pipeline(skbn.LocalScoreTransformer(), StandardScaler()),
    ):
        estimator.fit(scaled)
        for kind, words in (
            (EdgeHeatMapDisplay, "must be a posterior, .* got StandardScaler"),
            (NetworkDisplay, "that ends with one; got StandardScaler"),
        ):
            raises(words, kind.from_estimator, estimator, kind=TypeError)


# Weights of edges


def test_parents_come_before_children():
    dag = weighted("abcd", [("d", "a", 1.0), ("c", "b", -1.0)])
    display = EdgeHeatMapDisplay.from_estimator(GaussianBayesianNetwork(dag))
    assert display.nodes == ["c", "b", "d", "a"]
    assert np.isnan(np.tril(display.values)[np.tril_indices(4)]).all()
    assert display.values[0, 1] == pytest.approx(-np.sqrt(0.5))
    assert display.values[2, 3] == pytest.approx(np.sqrt(0.5))


def test_picture_has_names_and_numbers():
    dag = weighted(["$a_b$", "c"], [("$a_b$", "c", 2.0)])
    display = EdgeHeatMapDisplay.from_estimator(GaussianBayesianNetwork(dag))
    for labels in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [text.get_text() for text in labels] == ["$a_b$", "c"]
    assert [text.get_text() for text in display.ax_.texts] == ["0.89"]
    low, high = display.im_.get_clim()
    assert -low == high == pytest.approx(2 / np.sqrt(5))
    display.figure_.draw_without_rendering()


def test_picture_does_not_depend_on_styles_for_other_plots():
    dag = weighted(["a\0", "b" * 60], [("a\0", "b" * 60, 2.0)])
    style = {"axes.grid": True, "image.origin": "lower", "axes.facecolor": "black"}
    with matplotlib.rc_context(style):
        display = EdgeHeatMapDisplay.from_estimator(GaussianBayesianNetwork(dag))
        display.figure_.draw_without_rendering()
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the first row stands above
    assert display.ax_.get_facecolor()[:3] == (1, 1, 1)
    assert not any(line.get_visible() for line in display.ax_.get_xgridlines())
    assert display.ax_.get_xticklabels()[0].get_text() == r"a\x00"


def test_weights_that_are_not_known():
    held = GaussianBayesianNetwork(weighted("ab", [("a", "b", 2.0)])).do({"a": 1.0})
    assert np.isnan(EdgeHeatMapDisplay.from_estimator(held).values).all()
    network = GaussianBayesianNetwork(nx.DiGraph([("a", "b")]))
    raises("no parameters, so its edges", EdgeHeatMapDisplay.from_estimator, network)
