"""Parameters by the names that other programs have for them."""

import inspect

import pytest
from agreement import raises
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skbn
from skbn import BootstrapBNLearner, GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior
from skbn._core.other_names import OURS


@pytest.mark.parametrize(
    ("estimator", "theirs", "ours"),
    [
        (GaussianBNLearner, "blacklist", "forbidden_edges"),
        (GaussianBNLearner, "whitelist", "required_edges"),
        (GaussianBNLearnerCV, "maxp", "max_parents"),
        (GaussianBNPosterior, "max_indegree", "max_parents"),
        (skbn.LocalScoreTransformer, "score", "criterion"),
        (BootstrapBNLearner, "R", "n_resamples"),
    ],
)
def test_errors_name_ours(estimator, theirs, ours):
    message = f"{estimator.__name__} has no parameter '{theirs}'. It is called '{ours}' here"
    raises(message, estimator, **{theirs: 1}, kind=TypeError)
    raises(message, estimator().set_params, **{theirs: 1})
    step = estimator.__name__.lower()
    raises(message, make_pipeline(estimator()).set_params, **{f"{step}__{theirs}": 1})
    assert ours in clone(estimator()).get_params()
    assert ours in inspect.signature(estimator).parameters


def test_unknown_names_raise_as_always():
    raises("unexpected keyword argument 'nonsense'", GaussianBNLearner, nonsense=1, kind=TypeError)
    raises("Invalid parameter 'nonsense'", GaussianBNLearner().set_params, nonsense=1)
    raises("unexpected keyword argument 'maxp'", BootstrapBNLearner, maxp=1, kind=TypeError)


def test_no_name_of_others_is_one_of_ours():
    estimators = GaussianBNLearner, GaussianBNLearnerCV, GaussianBNPosterior, BootstrapBNLearner
    ours = {name for each in estimators for name in each().get_params()}
    assert not ours & {*OURS}
    assert {*OURS.values()} <= ours
