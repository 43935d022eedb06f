"""Weights and groups: by every route through pipelines and searches that scikit-learn has."""

import numpy as np
import pytest
from agreement import assert_same_network
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBNLearner, GaussianBNLearnerCV, LocalScoreTransformer

pytestmark = pytest.mark.filterwarnings("ignore::skbn.exceptions.RepeatedRowsWarning")

FOLDS = KFold(3, shuffle=True, random_state=0)
PENALTIES = [0.5, 8.0]


@pytest.fixture(scope="module")
def wine(wine):
    return wine.iloc[:, :6]


@pytest.fixture(scope="module")
def weight(wine):
    return np.random.default_rng(0).integers(0, 4, len(wine))


@pytest.fixture(scope="module")
def repeated(wine, weight):
    return wine.iloc[np.repeat(np.arange(len(wine)), weight)]


@pytest.fixture
def _routing():
    with config_context(enable_metadata_routing=True):
        yield


def learner(*, weighted=True):
    requests = GaussianBNLearner().set_fit_request(sample_weight=weighted)
    return requests.set_score_request(sample_weight=weighted)


def transformer(*, weighted=True):
    return LocalScoreTransformer().set_transform_request(sample_weight=weighted)


def scaler():
    return StandardScaler().set_fit_request(sample_weight=True)


# Without routing: by the steps' names


@pytest.mark.parametrize("steps", [["gaussianbnlearner"], ["localscoretransformer"], "both"])
def test_weights_by_the_names_of_steps(wine, weight, repeated, steps):
    expected = GaussianBNLearner().fit(repeated)
    steps = ["gaussianbnlearner", "localscoretransformer"] if steps == "both" else steps
    piped = make_pipeline(LocalScoreTransformer(), GaussianBNLearner())
    piped.fit(wine, **{f"{step}__sample_weight": weight for step in steps})
    assert_same_network(piped[-1], expected)
    assert piped.score(wine, sample_weight=weight) == pytest.approx(expected.score(repeated))
    assert piped.score(wine) != pytest.approx(expected.score(repeated))


@pytest.mark.needs_sklearn("1.7", "hands a search's weights to score")
def test_a_search_hands_weights_to_fit_and_score(wine, weight):
    search = GridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}, cv=FOLDS)
    search.fit(wine, sample_weight=weight)
    assert_weighted_search(search, wine, weight)


# With routing: by what each asks for


def assert_weighted_search(search, wine, weight):
    """Hold a search over penalties against the loop over the folds."""
    for i, (train, test) in enumerate(FOLDS.split(wine)):
        train, test = (np.repeat(rows, weight[rows]) for rows in (train, test))
        for j, penalty in enumerate(PENALTIES):
            alone = GaussianBNLearner(penalty=penalty).fit(wine.iloc[train])
            assert search.cv_results_[f"split{i}_test_score"][j] == pytest.approx(
                alone.score(wine.iloc[test]), rel=1e-12
            )
    (penalty,) = {*search.best_params_.values()}
    best = search.best_estimator_
    alone = GaussianBNLearner(penalty=penalty).fit(wine.iloc[np.repeat(range(len(wine)), weight)])
    assert_same_network(best if hasattr(best, "dag_") else best[-1], alone)


@pytest.mark.needs_sklearn("1.8", "routes a search's weights to the score of pipelines")
@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("asking", ["learner", "transformer", "both"])
def test_weights_go_to_those_who_ask(wine, weight, repeated, asking):
    steps = [transformer(weighted=asking != "learner"), learner(weighted=asking != "transformer")]
    expected = GaussianBNLearner().fit(repeated)
    piped = make_pipeline(*steps).fit(wine, sample_weight=weight)
    assert_same_network(piped[-1], expected)
    assert piped.score(wine, sample_weight=weight) == pytest.approx(expected.score(repeated))
    found = make_pipeline(*steps).fit_predict(wine, sample_weight=weight)
    assert {*found.edges} == {*expected.dag_.edges}
    search = GridSearchCV(
        make_pipeline(*steps), {"localscoretransformer__penalty": PENALTIES}, cv=FOLDS
    )
    assert_weighted_search(search.fit(wine, sample_weight=weight), wine, weight)


@pytest.mark.usefixtures("_routing")
def test_weights_do_not_go_to_those_who_decline(wine, weight):
    steps = [transformer(weighted=False), learner(weighted=False)]
    piped = make_pipeline(scaler(), *steps).fit(wine, sample_weight=weight)
    rows = piped[0].transform(wine)
    assert_same_network(piped[-1], GaussianBNLearner().fit(rows))


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(GaussianBNLearner()),
        make_pipeline(LocalScoreTransformer(), GaussianBNLearnerCV()),
        GridSearchCV(GaussianBNLearner(), {"penalty": PENALTIES}),
    ],
)
def test_weights_that_nobody_spoke_of_are_refused(wine, weight, estimator):
    with pytest.raises(UnsetMetadataPassedError, match=r"set_\w+_request"):
        estimator.fit(wine, sample_weight=weight)


@pytest.mark.needs_sklearn("1.8", "routes weights to the score of a search")
@pytest.mark.usefixtures("_routing")
def test_a_search_by_itself_and_within_a_cross_validation(wine, weight):
    search = GridSearchCV(learner(), {"penalty": PENALTIES}, cv=FOLDS)
    assert_weighted_search(search.fit(wine, sample_weight=weight), wine, weight)
    requests = GaussianBNLearnerCV(PENALTIES, cv=FOLDS).set_fit_request(sample_weight=True)
    own = requests.set_score_request(sample_weight=True)
    params = {"sample_weight": weight}
    outer, inner = (cross_validate(e, wine, cv=3, params=params) for e in (search, own))
    np.testing.assert_allclose(outer["test_score"], inner["test_score"], rtol=1e-12)
    unweighted = cross_validate(GaussianBNLearnerCV(PENALTIES, cv=FOLDS), wine, cv=3)
    assert (abs(outer["test_score"] - unweighted["test_score"]) > 0.01).all()
