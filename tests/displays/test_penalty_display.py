import pickle
from itertools import pairwise

import numpy as np
import pytest
from agreement import raises
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer, PenaltyDisplay

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


def test_bad_input_is_named(small_wine):
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
