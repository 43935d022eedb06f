from skbn import GaussianBNLearner
from skbn._core.progress import Progress
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
