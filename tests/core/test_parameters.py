"""Checks of parameters: what is allowed, and errors in scikit-learn's words."""

from fractions import Fraction
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from skbn import BIC, Criterion, GaussianBNLearner
from skbn._core.parameters import Interval, StrOptions, check_parameters

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
        [StrOptions({"bic", "aic"}), Criterion],
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
