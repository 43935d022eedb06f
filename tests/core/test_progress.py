import pytest

from skbn import GaussianBNLearner
from skbn._core.compile import compilations
from skbn._core.progress import Progress, printing_listener
from skbn.datasets import make_gaussian_network


def table(m, n=200):
    return make_gaussian_network(m, n_samples=n, random_state=m)[0]


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


# What `verbose` prints


def test_verbose_prints_the_plan(capsys):
    GaussianBNLearner(verbose=True).fit(table(5))
    lines = capsys.readouterr().out.splitlines()
    without_kernels = [line for line in lines if not line.startswith("[skbn] Compiling")]
    assert without_kernels == ["[GaussianBNLearner] 5 columns: 1.2 kB of memory"]
    GaussianBNLearner().fit(table(5))
    assert capsys.readouterr().out == ""


def test_verbose_prints_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr("skbn._core.progress._SECONDS_BETWEEN_LINES", 0)
    GaussianBNLearner(verbose=True).fit(table(5))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "[GaussianBNLearner] 100 % done, about 0.0 s left"


def test_the_time_left_does_not_count_compilation(monkeypatch):
    now, compiled = [0.0], [0.0]
    monkeypatch.setattr("skbn._core.progress.time.perf_counter", lambda: now[0])
    monkeypatch.setattr(type(compilations), "seconds", property(lambda _: compiled[0]))
    heard = []
    progress = Progress(4, (lambda *told: heard.append(told), printing_listener("Learner")))
    now[0] = compiled[0] = 10.0  # the kernels
    now[0] += 1.0
    progress.advance(2)
    now[0] += 0.5
    progress.advance(1)
    assert heard == [(50, pytest.approx(1.0)), (75, pytest.approx(0.5))]
