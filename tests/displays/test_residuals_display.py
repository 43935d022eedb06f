import pickle

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from agreement import raises
from drawn import graph_of, weighted
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBayesianNetwork, GaussianBNLearner, LocalScoreTransformer, ResidualsDisplay

draw = ResidualsDisplay.from_estimator


def points(ax):
    """Return the points that are drawn, in the order of their residuals."""
    (drawn,) = (line for line in ax.lines if line.get_marker() == "o")
    x, y = drawn.get_data()
    order = np.argsort(y, kind="stable")
    return x[order], y[order]


def test_residuals_are_the_networks_in_standard_deviations(wine, learner):
    network, columns = learner.network_, ["hue", "ash"]
    display = draw(learner, wine, columns=columns)
    noise = np.sqrt(network.noise_variance_)[[network.nodes.index(each) for each in columns]]
    residuals = network.residuals(wine)[columns]
    assert_allclose(display.residuals, residuals / noise)
    assert_allclose(display.residuals.std(axis=0), 1)
    assert_allclose(display.fitted + residuals, wine[columns])
    expected = [{*learner.dag_.predecessors(column)} for column in columns]
    assert [*map(set, display.parents)] == expected
    assert expected[1] == set()


def test_panels_show_quantiles_and_fitted_values(wine, learner):
    display = draw(learner, wine, columns=["hue", "ash"])
    assert display.axes_.shape == (2, 2)
    (quantiles, fitted), (_, by_row) = display.axes_
    x, y = points(quantiles)
    assert_array_equal(y, np.sort(display.residuals[:, 0]))
    assert_allclose(norm.cdf(x), (np.arange(178) + 0.5) / 178)
    x, y = points(fitted)
    order = np.argsort(display.residuals[:, 0])
    assert_array_equal(x, display.fitted[order, 0])
    assert_array_equal(y, display.residuals[order, 0])
    assert fitted.get_xlabel() == "fitted"
    assert by_row.get_xlabel() == "row (no parents)"
    assert set(points(by_row)[0]) == set(range(178))
    assert [ax.get_title(loc="left") for ax in display.axes_[:, 0]] == ["hue", "ash"]
    display.figure_.draw_without_rendering()
    again = pickle.loads(pickle.dumps(display))
    assert_array_equal(again.residuals, display.residuals)
    assert again.axes_.shape == display.axes_.shape


def test_gaussian_residuals_lie_within_the_band_and_others_do_not():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=500), rng.exponential(size=500)]
    network = GaussianBayesianNetwork(graph_of(range(2))).fit(rows)
    display = draw(network, rows)
    shares = []
    for ax in display.axes_[:, 0]:
        x, y = points(ax)
        corners = ax.collections[0].get_paths()[0].vertices
        ends = [corners[np.isclose(corners[:, 0], place), 1] for place in x]
        shares.append(np.mean([min(e) <= r <= max(e) for e, r in zip(ends, y, strict=True)]))
    assert shares[0] > 0.95 > 0.5 > shares[1]


def test_all_columns_have_room_in_one_figure(wine):
    rows = wine.iloc[:, :4]
    display = draw(GaussianBNLearner().fit(rows), rows)
    assert display.columns == list(rows.columns)
    assert display.axes_.shape == (4, 2)
    assert len(display.figure_.axes) == 8  # and no empty ones
    display.figure_.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in display.axes_.flat]
    right, top = display.figure_.bbox.max
    assert all(box.x1 <= right and box.y1 <= top and box.width > 60 for box in boxes)


def test_many_rows_are_thinned_but_for_the_extremes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 2))
    rows[:, 1] += rows[:, 0]
    display = ResidualsDisplay(GaussianBNLearner().fit(rows).network_, rows).plot()
    for v, axes in enumerate(display.axes_):
        residuals = np.sort(display.residuals[:, v])
        for ax in axes:
            _, y = points(ax)
            assert len(y) == 2000
            assert np.isin(y, residuals).all()
            assert_array_equal(y[:25], residuals[:25])
            assert_array_equal(y[-25:], residuals[-25:])


def test_the_line_of_means_shows_what_is_not_linear():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    rows = np.c_[x, x + x**2 / 4 + 0.5 * rng.normal(size=1000)]
    network = GaussianBayesianNetwork(nx.DiGraph([(0, 1)])).fit(rows)
    display = ResidualsDisplay(network, rows).plot()
    (means,) = (line for line in display.axes_[1, 1].lines if line.get_linewidth() == 2)
    _, y = means.get_data()
    assert min(y[0], y[-1]) > 0.3 > -0.1 > y[len(y) // 2]


def test_steps_of_a_pipeline_transform_the_table(wine):
    names = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(names, LocalScoreTransformer(), GaussianBNLearner()).fit(wine)
    display = draw(pipeline, wine, columns="hue")
    scaled = pipeline[0].transform(wine)
    expected = ResidualsDisplay(pipeline[-1].network_, scaled, columns="hue")
    assert_array_equal(display.residuals, expected.residuals)
    unnamed = make_pipeline(StandardScaler(), GaussianBNLearner())
    search = GridSearchCV(unnamed, {"gaussianbnlearner__penalty": [1]}, cv=2)
    display = draw(search.fit(wine), wine, columns=10)
    assert_allclose(display.residuals, expected.residuals)


def test_the_picture_is_for_the_ground_that_it_has(wine, learner):
    with plt.style.context("dark_background"):
        dark = draw(learner, wine, columns="hue")
    light = draw(learner, wine, columns="hue")
    colours = [{line.get_color() for line in each.axes_[0, 0].lines} for each in (dark, light)]
    assert not colours[0] & colours[1]


def test_given_axes_are_drawn_on(wine, learner):
    axes = Figure().subplots(1, 2)
    display = draw(learner, wine, columns="hue", axes=[axes])
    assert display.figure_ is axes[0].figure
    assert list(display.axes_[0]) == list(axes)
    raises(r"axes must be of shape \(1, 2\).*got \(2,\)", display.plot, axes=axes)
    raises(r"be one matplotlib\.axes\.Axes", display.plot, kind=TypeError, axes=[[axes[0], "x"]])


def test_odd_names_and_few_rows_are_drawn():
    rows = np.random.default_rng(0).normal(size=(3, 2))
    dag = weighted(["$a_b$", "x\0"])
    display = draw(GaussianBayesianNetwork(dag), rows)
    assert [ax.get_title(loc="left") for ax in display.axes_[:, 0]] == ["$a_b$", r"x\x00"]
    display.figure_.draw_without_rendering()
    for same in (rows[:1], rows[[0, 0]]):
        draw(GaussianBayesianNetwork(dag), same)


def test_bad_input_is_named(wine, learner):
    kinds = "must be a learner, a GaussianBNPosterior, a GaussianBay"
    raises("not fitted", draw, GaussianBNLearner(), wine, kind=NotFittedError)
    raises(kinds, draw, StandardScaler().fit(wine), wine, kind=TypeError)
    raises("columns must name nodes; 'Hue' is not one of", draw, learner, wine, columns=["Hue"])
    raises(r"X has no columns \['ash'\]", draw, learner, wine.drop(columns="ash"))
    held = learner.network_.do({"ash": 2.0})
    raises("'ash' has no noise", draw, held, wine)
    others = [column for column in wine if column != "ash"]
    assert draw(held, wine, columns=others).columns == others
