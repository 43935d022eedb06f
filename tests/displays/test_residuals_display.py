import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from agreement import raises
from drawn import weighted
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import (
    GaussianBayesianNetwork,
    GaussianBNLearner,
    GaussianBNLearnerCV,
    LocalScoreTransformer,
    PenaltyDisplay,
    ResidualsDisplay,
)


def points(ax):
    """Return the points that are drawn, in the order of their residuals."""
    (drawn,) = (line for line in ax.lines if line.get_marker() == "o")
    x, y = drawn.get_data()
    order = np.argsort(y, kind="stable")
    return x[order], y[order]


def test_residuals_are_the_networks_in_standard_deviations(wine, learner):
    display = ResidualsDisplay.from_estimator(learner, wine, columns=["hue", "ash"])
    network = learner.network_
    noise = dict(zip(network.nodes, np.sqrt(network.noise_variance_), strict=True))
    residuals = network.residuals(wine)
    for v, column in enumerate(["hue", "ash"]):
        expected = residuals[column] / noise[column]
        np.testing.assert_allclose(display.residuals[:, v], expected)
        assert display.residuals[:, v].std() == pytest.approx(1)
        np.testing.assert_allclose(display.fitted[:, v] + residuals[column], wine[column])
    assert [set(parents) for parents in display.parents] == [
        set(learner.dag_.predecessors("hue")),
        set(),
    ]


def test_panels_show_quantiles_and_fitted_values(wine, learner):
    display = ResidualsDisplay.from_estimator(learner, wine, columns=["hue", "ash"])
    assert display.axes_.shape == (2, 2)
    (quantiles, fitted), (_, by_row) = display.axes_
    x, y = points(quantiles)
    np.testing.assert_array_equal(y, np.sort(display.residuals[:, 0]))
    np.testing.assert_allclose(norm.cdf(x), (np.arange(178) + 0.5) / 178)
    x, y = points(fitted)
    order = np.argsort(display.residuals[:, 0])
    np.testing.assert_array_equal(x, display.fitted[order, 0])
    np.testing.assert_array_equal(y, display.residuals[order, 0])
    assert fitted.get_xlabel() == "fitted"
    assert by_row.get_xlabel() == "row (no parents)"
    assert set(points(by_row)[0]) == set(range(178))
    assert [ax.get_title(loc="left") for ax in display.axes_[:, 0]] == ["hue", "ash"]
    display.figure_.draw_without_rendering()


def test_gaussian_residuals_lie_within_the_band_and_others_do_not():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=500), rng.exponential(size=500)]
    network = GaussianBayesianNetwork(nx.empty_graph(2, nx.DiGraph)).fit(rows)
    display = ResidualsDisplay.from_estimator(network, rows)
    shares = []
    for ax in display.axes_[:, 0]:
        x, y = points(ax)
        corners = ax.collections[0].get_paths()[0].vertices
        ends = [corners[np.isclose(corners[:, 0], place), 1] for place in x]
        shares.append(np.mean([min(e) <= r <= max(e) for e, r in zip(ends, y, strict=True)]))
    assert shares[0] > 0.95 > 0.5 > shares[1]


def test_all_columns_have_room_in_one_figure(wine):
    rows = wine.iloc[:, :4]
    display = ResidualsDisplay.from_estimator(GaussianBNLearner().fit(rows), rows)
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
            np.testing.assert_array_equal(y[:25], residuals[:25])
            np.testing.assert_array_equal(y[-25:], residuals[-25:])


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
    display = ResidualsDisplay.from_estimator(pipeline, wine, columns="hue")
    scaled = pipeline[0].transform(wine)
    expected = ResidualsDisplay(pipeline[-1].network_, scaled, columns="hue")
    np.testing.assert_array_equal(display.residuals, expected.residuals)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GaussianBNLearner()),
        {"gaussianbnlearner__penalty": [1]},
        cv=2,
    )
    display = ResidualsDisplay.from_estimator(search.fit(wine), wine, columns=10)
    np.testing.assert_allclose(display.residuals, expected.residuals)


def test_the_picture_is_for_the_ground_that_it_has(wine, learner):
    import matplotlib.pyplot as plt

    with plt.style.context("dark_background"):
        dark = ResidualsDisplay.from_estimator(learner, wine, columns="hue")
    light = ResidualsDisplay.from_estimator(learner, wine, columns="hue")
    colours = [
        [line.get_color() for line in display.axes_[0, 0].lines] for display in (dark, light)
    ]
    assert not set(colours[0]) & set(colours[1])


def test_given_axes_are_drawn_on(wine, learner):
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    display = ResidualsDisplay.from_estimator(learner, wine, columns="hue", axes=[axes])
    assert display.figure_ is axes[0].figure
    assert list(display.axes_[0]) == list(axes)
    raises(r"axes must be of shape \(1, 2\).*got \(2,\)", display.plot, axes=axes)
    raises(r"be one matplotlib\.axes\.Axes", display.plot, kind=TypeError, axes=[[axes[0], "x"]])


def test_odd_names_and_few_rows_are_drawn():
    rows = np.random.default_rng(0).normal(size=(3, 2))
    dag = weighted(["$a_b$", "x\0"])
    display = ResidualsDisplay.from_estimator(GaussianBayesianNetwork(dag), rows)
    assert [ax.get_title(loc="left") for ax in display.axes_[:, 0]] == ["$a_b$", r"x\x00"]
    display.figure_.draw_without_rendering()
    for same in (rows[:1], rows[[0, 0]]):
        ResidualsDisplay.from_estimator(GaussianBayesianNetwork(dag), same)


def test_bad_input_is_named(wine, learner):
    with pytest.raises(NotFittedError):
        ResidualsDisplay.from_estimator(GaussianBNLearner(), wine)
    with pytest.raises(TypeError, match="must be a learner, a GaussianBNPosterior, a GaussianBay"):
        ResidualsDisplay.from_estimator(StandardScaler().fit(wine), wine)
    with pytest.raises(ValueError, match="columns must name nodes; 'Hue' is not one of"):
        ResidualsDisplay.from_estimator(learner, wine, columns=["Hue"])
    with pytest.raises(ValueError, match=r"X has no columns \['ash'\]"):
        ResidualsDisplay.from_estimator(learner, wine.drop(columns="ash"))
    held = learner.network_.do({"ash": 2.0})
    raises("'ash' has no noise", ResidualsDisplay.from_estimator, held, wine)
    others = [column for column in wine if column != "ash"]
    assert ResidualsDisplay.from_estimator(held, wine, columns=others).columns == others


# Penalty display


PENALTIES = [4.0, 1.0, 2.0]


def drawn(display):
    """Return the curve's points and its errors."""
    line, _, (bars,) = display.errorbar_.lines
    ends = np.array(bars.get_segments())[:, :, 1]
    return line.get_xdata(), line.get_ydata(), np.ptp(ends, axis=1) / 2


def test_curve_of_a_cross_validated_learner(small_wine):
    learner = GaussianBNLearnerCV(PENALTIES, cv=3).fit(small_wine)
    display = PenaltyDisplay.from_estimator(learner)
    penalties, means, errors = drawn(display)
    order = np.argsort(PENALTIES)
    assert list(penalties) == [1, 2, 4]
    assert list(means) == list(learner.cv_results_["mean_test_score"][order])
    assert errors == pytest.approx(learner.cv_results_["se_test_score"][order])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"chosen: {learner.penalty_:.3g}", "one standard error below the best"]
    (above,) = display.ax_.child_axes
    edges = learner.cv_results_["mean_n_edges"][order]
    assert [text.get_text() for text in above.get_xticklabels()] == [f"{n:.3g}" for n in edges]
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_curve_of_a_grid_search_is_the_same(small_wine, in_pipeline):
    learner = GaussianBNLearnerCV(PENALTIES, cv=3).fit(small_wine)
    step = GaussianBNLearner()
    name = "penalty"
    if in_pipeline:
        step = make_pipeline(LocalScoreTransformer(), step)
        name = "localscoretransformer__penalty"
    search = GridSearchCV(step, {name: PENALTIES}, cv=3).fit(small_wine)
    display = PenaltyDisplay.from_estimator(search)
    for of_grid, of_learner in zip(
        drawn(display), drawn(PenaltyDisplay.from_estimator(learner)), strict=True
    ):
        assert of_grid == pytest.approx(of_learner)
    assert display.chosen == learner.penalty_


def test_learner_at_the_end_of_a_pipeline(small_wine):
    pipeline = make_pipeline(StandardScaler(), GaussianBNLearnerCV(PENALTIES, cv=3))
    with pytest.raises(NotFittedError):
        PenaltyDisplay.from_estimator(pipeline)
    display = PenaltyDisplay.from_estimator(pipeline.fit(small_wine))
    assert display.chosen == pipeline[-1].penalty_


def test_single_fold_has_no_errors(small_wine):
    learner = GaussianBNLearnerCV(PENALTIES, cv=[(np.arange(100), np.arange(100, 178))]).fit(
        small_wine
    )
    display = PenaltyDisplay.from_estimator(learner)
    assert np.isnan(display.errors).all()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"chosen: {learner.penalty_:.3g}"]


def test_penalty_of_zero_is_drawn_on_a_plain_scale():
    display = PenaltyDisplay([0, 1, 2], [-3, -2, -4], [1, 1, 1]).plot()
    assert display.ax_.get_xscale() == "linear"
    assert PenaltyDisplay([1, 2], [-3, -2], [1, 1]).plot().ax_.get_xscale() == "log"


def test_search_of_several_scores_is_drawn_by_the_one_that_counts(small_wine):
    scoring = {"fit": lambda est, X: est.score(X), "edges": lambda est, X: -est.dag_.size()}
    search = GridSearchCV(
        GaussianBNLearner(), {"penalty": PENALTIES}, cv=3, scoring=scoring, refit="edges"
    ).fit(small_wine)
    display = PenaltyDisplay.from_estimator(search)
    assert list(display.means) == list(search.cv_results_["mean_test_edges"])
    assert display.ax_.get_ylabel() == "mean held-out edges"
    search.set_params(refit=False).fit(small_wine)
    raises(r"several scores.*refit must name the one", PenaltyDisplay.from_estimator, search)


def test_score_of_the_learner_has_its_unit(small_wine):
    search = GridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}, cv=3, refit=False).fit(
        small_wine
    )
    display = PenaltyDisplay.from_estimator(search)
    assert display.ax_.get_ylabel().endswith("nats")
    assert display.chosen == search.best_params_["penalty"]


def test_searches_on_growing_samples_are_refused(small_wine):
    search = HalvingGridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}, cv=2).fit(small_wine)
    raises("on the same rows; HalvingGridSearchCV does not", PenaltyDisplay.from_estimator, search)


def test_failed_penalties_leave_a_gap():
    display = PenaltyDisplay([1, 2, 4], [-3, np.nan, -2], [0.5, np.nan, 0.25]).plot()
    (line,) = (line for line in display.ax_.lines if line.get_linestyle() == ":")
    assert list(line.get_ydata()) == [-2.25, -2.25]
    nothing = PenaltyDisplay([1, 2], [np.nan, np.nan], [np.nan, np.nan]).plot()
    assert nothing.ax_.get_legend() is None


def test_ticks_have_room():
    penalties = np.geomspace(0.1, 10, 40)
    display = PenaltyDisplay(penalties, -penalties, penalties, n_edges=penalties).plot()
    display.figure_.draw_without_rendering()
    (above,) = display.ax_.child_axes
    for ax in (display.ax_, above):
        boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
        assert len(boxes) > 8
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_pictures_can_be_pickled(small_wine):
    display = PenaltyDisplay.from_estimator(GaussianBNLearnerCV(PENALTIES, cv=3).fit(small_wine))
    again = pickle.loads(pickle.dumps(display))
    assert again.ax_.get_xlabel() == "penalty"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], None, [1, 2]), "means must be numbers; got None"),
        ((["l1", "l2"], [1, 2], [1, 2]), "penalties must be numbers"),
    ],
)
def test_what_are_no_numbers_is_named(arguments, message):
    raises(message, PenaltyDisplay, *arguments)
    raises("chosen must be numbers; got 'x'", PenaltyDisplay, [1, 2], [1, 2], [1, 2], chosen="x")


def test_bad_input_is_named_penalty_display(small_wine):
    for learner in (GaussianBNLearnerCV(), GridSearchCV(GaussianBNLearner(), {"penalty": [1]})):
        with pytest.raises(NotFittedError):
            PenaltyDisplay.from_estimator(learner)
    with pytest.raises(TypeError, match=r"must be a GaussianBNLearnerCV, .*got GaussianBNLearner"):
        PenaltyDisplay.from_estimator(GaussianBNLearner().fit(small_wine))
    for grid in ({"criterion": ["aic", "bic"]}, {"criterion": ["aic"], "penalty": [1, 2]}):
        search = GridSearchCV(GaussianBNLearner(), grid, cv=2).fit(small_wine)
        raises("must vary a penalty and nothing else", PenaltyDisplay.from_estimator, search)
    raises("means must have one value per penalty, 2", PenaltyDisplay, [1, 2], [1], [1, 2])
    raises("penalties must be a list of one or more", PenaltyDisplay, [], [], [])
