"""Grid searches and cross-validation: what a loop over the folds gives."""

import numpy as np
import pytest
from agreement import raises
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import BIC, EBIC, GaussianBNLearner, LocalScoreTransformer

FOLDS = KFold(2, shuffle=True, random_state=0)
CRITERIA = ["bge", EBIC(gamma=1.0), BIC(unbiased_variance=True)]
GRIDS = {
    "penalty": {"penalty": [0.0, 1.0, 30.0]},
    "criterion": {"criterion": CRITERIA},
    "a criterion's parameter": {"criterion": [EBIC()], "criterion__gamma": [0, 2]},
    "max_parents": {"max_parents": [0, 2, None]},
}


def held_out_means(learner, grid, rows):
    """Return a mean held-out log-likelihood for each point of a grid, by a loop over the folds."""
    means = []
    for parameters in ParameterGrid(grid):
        scores = []
        for train, test in FOLDS.split(rows):
            scaler = StandardScaler().fit(rows.iloc[train])
            each = clone(learner).set_params(**clone(parameters, safe=False))
            each.fit(scaler.transform(rows.iloc[train]))
            scores.append(each.score_samples(scaler.transform(rows.iloc[test])).mean())
        means.append(np.mean(scores))
    return np.array(means)


def prefixed(grid, step):
    return {f"{step}__{name}": values for name, values in grid.items()}


@pytest.fixture(scope="module", params=GRIDS)
def grid_and_means(request, wine):
    grid = GRIDS[request.param]
    return grid, held_out_means(GaussianBNLearner(), grid, wine)


@pytest.mark.parametrize("step", ["gaussianbnlearner", "localscoretransformer"])
def test_a_grid_search_is_a_loop_over_folds(wine, grid_and_means, step):
    grid, means = grid_and_means
    steps = [StandardScaler().set_output(transform="pandas"), GaussianBNLearner()]
    if step == "localscoretransformer":
        steps.insert(1, LocalScoreTransformer())
    search = GridSearchCV(make_pipeline(*steps), prefixed(grid, step), cv=FOLDS).fit(wine)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert len(set(means.round(9))) == len(means)  # each point is another one
    assert search.best_index_ == means.argmax()
    best = clone(GaussianBNLearner(), safe=False)
    best.set_params(**ParameterGrid(grid)[search.best_index_])
    best.fit(StandardScaler().set_output(transform="pandas").fit_transform(wine))
    assert list(search.predict(wine).edges(data=True)) == list(best.dag_.edges(data=True))
    assert search.score(wine) == search.best_estimator_.score(wine)
    assert search.score_samples(wine).mean() == pytest.approx(search.score(wine))


# Local scores in the place of the table


@pytest.mark.parametrize(
    "settings", [{"criterion": "aic"}, {"criterion": EBIC(gamma=2.0)}, {"max_parents": 1}]
)
def test_parts_of_local_scores_keep_their_settings(wine, settings):
    scores = LocalScoreTransformer(**settings).fit_transform(wine)
    expected = cross_val_score(GaussianBNLearner(**settings), wine, cv=FOLDS)
    np.testing.assert_array_equal(cross_val_score(GaussianBNLearner(), scores, cv=FOLDS), expected)
    assert (expected != cross_val_score(GaussianBNLearner(), wine, cv=FOLDS)).all()
    search = GridSearchCV(GaussianBNLearner(), {"max_parents": [1, 0]}, cv=FOLDS).fit(scores)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(
        cross_val_score(GaussianBNLearner(**{**settings, "max_parents": 1}), wine, cv=FOLDS).mean()
    )
    assert list(search.predict(scores)) == list(wine.columns)


def test_a_penalty_other_than_that_of_local_scores_fails_each_fit(wine):
    scores = LocalScoreTransformer().fit_transform(wine)
    search = GridSearchCV(GaussianBNLearner(), {"penalty": [2, 3]})
    raises(r"(?s)All the 10 fits failed.*LocalScores were made with", search.fit, scores)
