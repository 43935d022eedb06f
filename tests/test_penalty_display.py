import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer, PenaltyDisplay

PENALTIES = [4.0, 1.0, 2.0]


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data[["alcohol", "proline", "hue", "ash"]]


def drawn(display):
    """Return the curve's points and its errors."""
    line, _, (bars,) = display.errorbar_.lines
    ends = np.array(bars.get_segments())[:, :, 1]
    return line.get_xdata(), line.get_ydata(), np.ptp(ends, axis=1) / 2


def test_curve_of_a_cross_validated_learner(wine):
    learner = GaussianBNLearnerCV(PENALTIES, cv=3).fit(wine)
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
    assert [text.get_text() for text in above.get_xticklabels()] == [f"{n:.0f}" for n in edges]
    display.figure_.draw_without_rendering()


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_curve_of_a_grid_search_is_the_same(wine, in_pipeline):
    learner = GaussianBNLearnerCV(PENALTIES, cv=3).fit(wine)
    step = GaussianBNLearner()
    name = "penalty"
    if in_pipeline:
        step = make_pipeline(LocalScoreTransformer(), step)
        name = "localscoretransformer__penalty"
    search = GridSearchCV(step, {name: PENALTIES}, cv=3).fit(wine)
    display = PenaltyDisplay.from_estimator(search)
    for of_grid, of_learner in zip(
        drawn(display), drawn(PenaltyDisplay.from_estimator(learner)), strict=True
    ):
        assert of_grid == pytest.approx(of_learner)
    assert display.chosen == learner.penalty_


def test_learner_at_the_end_of_a_pipeline(wine):
    pipeline = make_pipeline(StandardScaler(), GaussianBNLearnerCV(PENALTIES, cv=3))
    with pytest.raises(NotFittedError):
        PenaltyDisplay.from_estimator(pipeline)
    display = PenaltyDisplay.from_estimator(pipeline.fit(wine))
    assert display.chosen == pipeline[-1].penalty_


def test_single_fold_has_no_errors(wine):
    learner = GaussianBNLearnerCV(PENALTIES, cv=[(np.arange(100), np.arange(100, 178))]).fit(wine)
    display = PenaltyDisplay.from_estimator(learner)
    assert np.isnan(display.errors).all()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"chosen: {learner.penalty_:.3g}"]


def test_penalty_of_zero_is_drawn_on_a_plain_scale():
    display = PenaltyDisplay([0, 1, 2], [-3, -2, -4], [1, 1, 1]).plot()
    assert display.ax_.get_xscale() == "linear"
    assert PenaltyDisplay([1, 2], [-3, -2], [1, 1]).plot().ax_.get_xscale() == "log"


def test_bad_input_is_named(wine):
    for learner in (GaussianBNLearnerCV(), GridSearchCV(GaussianBNLearner(), {"penalty": [1]})):
        with pytest.raises(NotFittedError):
            PenaltyDisplay.from_estimator(learner)
    with pytest.raises(TypeError, match=r"must be a GaussianBNLearnerCV, .*got GaussianBNLearner"):
        PenaltyDisplay.from_estimator(GaussianBNLearner().fit(wine))
    for grid in ({"criterion": ["aic", "bic"]}, {"criterion": ["aic"], "penalty": [1, 2]}):
        search = GridSearchCV(GaussianBNLearner(), grid, cv=2).fit(wine)
        with pytest.raises(ValueError, match="must vary a penalty and nothing else"):
            PenaltyDisplay.from_estimator(search)
    with pytest.raises(ValueError, match="means must be as many as the penalties, 2"):
        PenaltyDisplay([1, 2], [1], [1, 2])
    with pytest.raises(ValueError, match="penalties must be a list of one or more"):
        PenaltyDisplay([], [], [])
