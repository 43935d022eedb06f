"""What estimators do for scikit-learn: checks of parameters; callbacks, from version 1.9 on."""

import io
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from numbers import Integral, Real
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
import rich
import sklearn
from recording_callbacks import Interrupter, Recorder, Stopper, needs_callbacks
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn import BIC, GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer
from skbn._core.estimator import Interval, StrOptions, check_parameters
from skbn.datasets import make_gaussian_network

try:
    from sklearn.callback import ProgressBar
except ImportError:
    ProgressBar = None


def table(m, n=200):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


@needs_callbacks
@pytest.mark.parametrize("m", [2, 5, 18, 20])
def test_a_search_does_all_of_its_work_and_no_more(m):
    for n_jobs in (1, 2):
        recorder = Recorder()
        GaussianBNLearner(n_jobs=n_jobs).set_callbacks(recorder).fit(table(m))
        percents = [("GaussianBNLearner", "percent of the search")] * 100
        assert recorder.ended == [*percents, ("GaussianBNLearner", "fit"), "teardown"]


@needs_callbacks
def test_progress_counts_log_determinants_that_are_there_already():
    scores = LocalScoreTransformer().fit_transform(table(6))
    for _ in range(2):
        recorder = Recorder()
        GaussianBNLearner().set_callbacks(recorder).fit(scores)
        assert len(recorder.ended) == 102


@needs_callbacks
def test_callbacks_reach_a_learner_within_a_search():
    recorder = Recorder()
    pipeline = make_pipeline(StandardScaler(), GaussianBNLearner())
    search = GridSearchCV(pipeline, {"gaussianbnlearner__penalty": [1, 2]}, cv=2)
    search.set_callbacks(recorder).fit(table(5))
    fits = recorder.ended.count(("GaussianBNLearner", "fit"))
    assert fits == 5
    assert recorder.ended.count(("GaussianBNLearner", "percent of the search")) == 100 * fits


WITHOUT_CALLBACKS = """
import sys
import sklearn.model_selection, sklearn.pipeline  # which import sklearn.callback if they can
sys.modules["sklearn.callback"] = None
import networkx as nx
import numpy as np
import skbn
rows = np.random.default_rng(0).normal(size=(20, 2))
for estimator in (
    skbn.GaussianBNLearner(verbose=True),
    skbn.GaussianBNLearnerCV(cv=2),
    skbn.LocalScoreTransformer(),
    skbn.GaussianBayesianNetwork(nx.DiGraph([(0, 1)])),
):
    assert not hasattr(estimator.fit(rows), "set_callbacks")
"""


@pytest.mark.slow
def test_without_callbacks_everything_else_works():
    command = [sys.executable, "-c", WITHOUT_CALLBACKS]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("[GaussianBNLearner] 2 columns: 96 B of memory\n")


# scikit-learn's own progress bar


@pytest.fixture
def screen():
    """What progress bars print."""
    text = io.StringIO()
    rich.reconfigure(file=text, width=200)
    yield text
    rich.reconfigure()


def bars(screen):
    """Return the lines of progress bars, as what they are of and what they have come to."""
    lines = [line.split("━")[0].strip() for line in screen.getvalue().splitlines()]
    assert all("100%" in line for line in screen.getvalue().splitlines())
    return lines


@needs_callbacks
@pytest.mark.parametrize(
    "learner", [GaussianBNLearner(), GaussianBNLearnerCV(cv=2), GaussianBNLearnerCV(cv=2, n_jobs=2)]
)
def test_progress_bar_of_a_learner(screen, learner):
    learner.set_callbacks(ProgressBar()).fit(table(5))
    assert bars(screen) == [f"{type(learner).__name__} - fit"]


STEPS = ["standardscaler | StandardScaler", "localscoretransformer | LocalScoreTransformer"]


def lines_of_steps(learner):
    fitted = [f"Pipeline - fit-transform-{step} - fit #{i}" for i, step in enumerate(STEPS)]
    return [*fitted, f"Pipeline - fit-final-estimator | {type(learner).__name__} - fit #2"]


@needs_callbacks
@pytest.mark.parametrize("learner", [GaussianBNLearner(), GaussianBNLearnerCV(cv=2)])
def test_progress_bar_of_a_pipeline(screen, learner):
    pipeline = make_pipeline(StandardScaler(), LocalScoreTransformer(), learner)
    pipeline.set_callbacks(ProgressBar()).fit(table(5))
    assert bars(screen) == ["Pipeline - fit", *lines_of_steps(learner)]
    recorder = Recorder()
    pipeline.set_callbacks(recorder).fit_predict(table(5))
    assert recorder.ended.count((type(learner).__name__, "percent of the search")) == 100
    assert recorder.ended.count(("LocalScoreTransformer", "fit")) == 1


@needs_callbacks
def test_callbacks_hear_of_networks_that_are_fitted():
    rows = table(3)
    recorder = Recorder()
    graphs = [nx.DiGraph([(0, 1), (1, 2)]), nx.DiGraph([(0, 1), (0, 2)])]
    search = GridSearchCV(skbn.GaussianBayesianNetwork(graphs[0]), {"dag": graphs}, cv=3)
    search.set_callbacks(recorder).fit(rows)
    assert recorder.ended.count(("GaussianBayesianNetwork", "fit")) == 2 * 3 + 1


@needs_callbacks
def test_clones_keep_their_callbacks():
    recorder = Recorder()
    learner = GaussianBNLearner().set_callbacks(recorder)
    clone(learner).fit(table(5))
    assert recorder.ended.count(("GaussianBNLearner", "percent of the search")) == 100
    clone(learner.set_callbacks()).fit(table(5))
    assert recorder.ended.count("teardown") == 1


class Witness(Recorder):
    """Keeps what the end of a fit was told."""

    def on_fit_task_end(self, estimator, context, *, X, metadata, fitted_estimator):
        if context.task_name == "fit":
            self.ended.append((X, metadata["sample_weight"], fitted_estimator))
        else:
            assert fitted_estimator is None


@needs_callbacks
@pytest.mark.parametrize("estimator", [GaussianBNLearner(), GaussianBNLearnerCV(cv=2)])
def test_the_end_of_a_fit_is_told_of_its_result(estimator):
    witness, weight = Witness(), np.arange(200) % 3
    estimator.set_callbacks(witness).fit(table(5), sample_weight=weight)
    (X, told, fitted), _ = witness.ended
    assert told is weight
    assert fitted.score(X, sample_weight=told) == estimator.score(table(5), sample_weight=weight)


@needs_callbacks
def test_the_end_of_a_transformers_fit_is_told_of_its_result():
    witness, weight = Witness(), np.arange(200) % 3
    transformer = LocalScoreTransformer().set_callbacks(witness)
    transformer.fit_transform(table(5), sample_weight=weight)
    (X, told, fitted), _ = witness.ended
    assert told is weight
    assert fitted.transform(X).shape == X.shape
    transformer.fit(table(5))
    assert witness.ended[2][1] is None


# Callbacks that end a fit


@needs_callbacks
def test_a_callback_that_stops_the_search_leaves_no_result():
    learner = GaussianBNLearner().fit(table(5))
    with pytest.raises(RuntimeError, match=r"stopped the search after .* no result"):
        learner.set_callbacks(Stopper()).fit(table(5))
    assert not hasattr(learner, "dag_")


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_leaves_no_result_and_no_memory(n_jobs):
    rows = table(20)
    learner = GaussianBNLearner(n_jobs=n_jobs).fit(rows)
    learner.set_callbacks(Interrupter())
    tracemalloc.start()
    with pytest.raises(KeyboardInterrupt) as interruption:
        learner.fit(rows)
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert interruption.traceback
    assert not hasattr(learner, "dag_")
    assert peak > 8 << 20
    assert left < 2**20
    assert learner.set_callbacks().fit(rows).dag_.number_of_nodes() == 20


# Parameters

CASES = [
    (
        [Interval(Real, 0, np.float64(1e100), closed="both")],
        [0, 1e100, np.float32(2), np.int64(1), Fraction(1, 3), True],
        [-1e-9, np.inf, np.nan, "1", None, 1j],
        "a float in the range [0.0, 1e+100]",
    ),
    (
        [Interval(Real, 0, None, closed="neither"), None],
        [1e-300, 2**70, None],
        [0, np.inf, np.nan],
        "a float in the range (0.0, inf) or None",
    ),
    (
        [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right")],
        [1, -1, 2**70, -(2**70)],
        [0, 1.0, "1", None],
        "an int in the range [1, inf) or an int in the range (-inf, -1]",
    ),
    (
        [StrOptions({"bic", "aic"}), skbn.Criterion],
        ["aic", np.str_("bic"), BIC()],
        ["bci", BIC, None],
        "a str among {'aic', 'bic'} or an instance of 'skbn._scores",
    ),
    (["boolean"], [True, np.False_], [0, None], "an instance of 'bool' or an instance of 'numpy."),
    (["verbose"], [0, 2, True], [-1, 1.0, None], "an int in the range [0, inf), an instance of"),
    (["array-like", dict], [[1], (), {}, np.ones(2)], [1, "a", None], "an array-like or an ins"),
    (
        ["cv_object"],
        [None, 2, KFold(3), iter([])],
        [1, "2", 2.0],
        "an int in the range [2, inf), an object implementing 'split' and 'get_n_splits', an",
    ),
]


@pytest.mark.parametrize(("values", "allowed", "refused", "message"), CASES)
def test_values_are_allowed_or_refused(values, allowed, refused, message):
    class Estimator(BaseEstimator):
        _allowed_values: ClassVar = {"parameter": values}

        def __init__(self, parameter, unchecked=None):
            self.parameter = parameter
            self.unchecked = unchecked

    for value in allowed:
        check_parameters(Estimator(value, unchecked=object()))
    for value in refused:
        with pytest.raises((ValueError, TypeError)) as refusal:
            check_parameters(Estimator(value))
        text = str(refusal.value)
        assert text.startswith(f"The 'parameter' parameter of Estimator must be {message}")
        assert text.endswith(f". Got {value!r} instead.")


def test_the_check_is_left_out_as_in_scikit_learn():
    with sklearn.config_context(skip_parameter_validation=True):
        check_parameters(GaussianBNLearner(penalty=-1))
    with pytest.raises(TypeError, match="'penalty' parameter of GaussianBNLearner"):
        check_parameters(GaussianBNLearner(penalty=-1))
