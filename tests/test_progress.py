import signal
import tracemalloc

import numpy as np
import pytest
import reference
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, LocalScoreTransformer
from skbn._progress import Progress


def table(m, n=200):
    return reference.random_network_rows(np.random.default_rng(m), m, n)


class Recorder:
    """A callback that is handed on to the estimators within another, as a progress bar is."""

    max_propagation_depth = None

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name))


def test_listeners_hear_of_each_percent_once():
    heard = []
    progress = Progress(50.0, (lambda *told: heard.append(told),))
    for _ in range(200):
        progress.advance(0.25)
    percents, seconds_left = zip(*heard, strict=True)
    assert percents == tuple(range(1, 101))
    assert min(seconds_left) == seconds_left[-1] == 0


def test_large_steps_skip_percents():
    heard = []
    progress = Progress(4, (lambda percent, _: heard.append(percent),))
    for _ in range(4):
        progress.advance(1)
    assert heard == [25, 50, 75, 100]


@pytest.mark.parametrize("m", [2, 5, 18, 20])
def test_a_search_does_all_of_its_work_and_no_more(m):
    for n_jobs in (1, 2):
        recorder = Recorder()
        GaussianBNLearner(n_jobs=n_jobs).set_callbacks(recorder).fit(table(m))
        percents = [("GaussianBNLearner", "percent of the search")] * 100
        assert recorder.ended == [*percents, ("GaussianBNLearner", "fit"), "teardown"]


def test_progress_counts_log_determinants_that_are_there_already():
    scores = LocalScoreTransformer().fit_transform(table(6))
    for _ in range(2):
        recorder = Recorder()
        GaussianBNLearner().set_callbacks(recorder).fit(scores)
        assert len(recorder.ended) == 102


def test_callbacks_reach_a_learner_within_a_search():
    recorder = Recorder()
    pipeline = make_pipeline(StandardScaler(), GaussianBNLearner())
    search = GridSearchCV(pipeline, {"gaussianbnlearner__penalty": [1, 2]}, cv=2)
    search.set_callbacks(recorder).fit(table(5))
    fits = recorder.ended.count(("GaussianBNLearner", "fit"))
    assert fits == 5
    assert recorder.ended.count(("GaussianBNLearner", "percent of the search")) == 100 * fits


def test_verbose_prints_the_plan(capsys):
    GaussianBNLearner(verbose=True).fit(table(5))
    assert capsys.readouterr().out == (
        "[GaussianBNLearner] 5 columns, of which 0 are fixed at a time: 1,152 bytes of memory\n"
    )
    GaussianBNLearner().fit(table(5))
    assert capsys.readouterr().out == ""


def test_verbose_prints_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr("skbn._progress._SECONDS_BETWEEN_LINES", 0)
    GaussianBNLearner(verbose=True).fit(table(5))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "[GaussianBNLearner] 100 % done, about 0.0 s left"


class Stopper(Recorder):
    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        return len(self.ended) == 30


def test_a_callback_that_stops_the_search_leaves_no_result():
    learner = GaussianBNLearner().fit(table(5))
    with pytest.raises(RuntimeError, match=r"stopped the search after .* no result"):
        learner.set_callbacks(Stopper()).fit(table(5))
    assert not hasattr(learner, "dag_")


class Interrupter(Recorder):
    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if len(self.ended) == 40:
            signal.raise_signal(signal.SIGINT)


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
