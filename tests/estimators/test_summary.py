"""What a learner found, on one screen of text."""

import numpy as np
import pytest
from agreement import raises
from sklearn.exceptions import NotFittedError

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer, ParentSetScores

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.DataWarning")


@pytest.fixture(scope="module")
def wine(wine):
    return wine.iloc[:, :5]


def lines_of(learner):
    """The lines before the regressions, by their first word."""
    head, _, _ = learner.summary().partition("\n\n")
    name, *lines = head.splitlines()
    assert name == type(learner).__name__
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}


def test_what_it_tells_is_what_the_learner_has(wine):
    learner = GaussianBNLearner().fit(wine)
    lines, fit = lines_of(learner), learner.network_.fit_indices()
    assert lines["table"] == "178 rows, 5 columns"
    assert lines["criterion"] == "BIC()"
    assert lines["score"] == f"{learner.network_score_:.4f} nats"
    assert lines["proof"] == "Proven over all networks: none has a higher score."
    assert lines["network"].startswith(f"5 nodes and {learner.dag_.number_of_edges()} edges")
    assert f"chi2 {fit.chi2:.4g} with {fit.df} df, p = {fit.p_value:.3g}" in lines["fit"]
    assert f"CFI {fit.cfi:.3f}, RMSEA {fit.rmsea:.3f}" in lines["fit"]
    regressions = str(learner.network_).partition("\n")[2]
    assert learner.summary().endswith(f"\n\n{regressions}")


@pytest.mark.parametrize(
    ("settings", "proof"),
    [
        ({"search": "order", "random_state": 0}, 'Not proven optimal: found by search="order".'),
        ({"max_parents": 1}, "Proven among networks of at most 1 parent: none has a higher score."),
        (
            {"tiers": [["ash"], ...]},
            "Proven over all networks within the constraints: none has a higher score.",
        ),
    ],
)
def test_what_is_proven(wine, settings, proof):
    assert lines_of(GaussianBNLearner(**settings).fit(wine))["proof"] == proof


def test_fit_is_left_out_where_it_is_not_known(wine):
    assert "fit" not in lines_of(GaussianBNLearner("bge").fit(wine))
    holes = wine.mask(np.eye(*wine.shape, dtype=bool)).iloc[:, :3]
    lines = lines_of(GaussianBNLearner(missing="em", n_candidates=2).fit(holes))
    assert lines["proof"] == 'Not proven optimal: found by missing="em".'
    assert "fit" not in lines
    few = np.random.default_rng(0).normal(size=(4, 5))
    assert "fit" not in lines_of(GaussianBNLearner(max_parents=1).fit(few))


def test_weights_penalties_and_scores(wine):
    weight = np.arange(178) % 3
    lines = lines_of(GaussianBNLearner("aic", penalty=2).fit(wine, sample_weight=weight))
    assert lines["table"] == "118 rows whose weights sum to 177, 5 columns"
    assert lines["criterion"] == "AIC(), penalty 2"
    chosen = GaussianBNLearnerCV([0.5, 4], cv=3).fit(wine)
    assert lines_of(chosen)["criterion"] == f"BIC(), penalty {chosen.penalty_:g}"
    scores = LocalScoreTransformer().fit_transform(wine)
    assert lines_of(GaussianBNLearner().fit(scores))["table"] == "178 rows, 5 columns"
    listed = ParentSetScores(["a", "b"], [([[-1]], [-1.0]), ([[-1], [0]], [-2.0, -1.0])])
    lines = lines_of(GaussianBNLearner().fit(listed))
    assert lines["table"] == "2 columns; scores of parent sets, without rows"
    assert lines["criterion"] == "that of the scores"
    assert lines["proof"].startswith("Proven among networks of listed families: none")


def test_it_tells_of_holes_and_of_what_was_set(wine):
    learner = GaussianBNLearner().fit(wine, interventions=["ash"] * 50 + [None] * 128)
    assert lines_of(learner)["set"] == "'ash' in some rows"
    holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.1)
    learner = GaussianBNLearner(missing="em").fit(holes)
    held = f"178 rows, 5 columns, missing values; n_effective_ = {learner.n_effective_:g}"
    assert lines_of(learner)["table"] == held
    assert "set" not in lines_of(learner)


def test_it_needs_a_fit():
    with pytest.raises(NotFittedError):
        GaussianBNLearner().summary()


def test_max_rows_limits_the_regressions(wine):
    learner = GaussianBNLearner().fit(wine)
    m, whole = wine.shape[1], learner.summary()
    for k in (1, 2, m - 1):
        *_, line = lines = learner.summary(max_rows=k).partition("\n\n")[2].split("\n")
        assert (len(lines), line) == (k + 1, f"... and {m - k} more node{'s' * (m - k > 1)}")
        assert "\n".join(lines[:-1]) in whole
    assert learner.summary(max_rows=m) == whole
    for wrong, error in ((0, ValueError), (1.5, TypeError), ("3", TypeError)):
        raises("max_rows", learner.summary, max_rows=wrong, kind=error)
