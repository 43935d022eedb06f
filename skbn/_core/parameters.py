"""Checks of the parameters that users give to estimators and criteria.

A class lists in ``_allowed_values`` what each of its parameters may be, and `check_parameters`
compares. The errors are worded like scikit-learn's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator

__all__ = ["Interval", "InvalidParameterError", "StrOptions", "check_parameters"]


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value or a type that its class does not allow."""


@dataclass(frozen=True)
class Interval:
    """The numbers of one kind between two bounds; a bound of None is infinite.

    Parameters
    ----------
    kind : {numbers.Integral, numbers.Real}
    left, right : float, int or None
    closed : {"left", "right", "both", "neither"}
        Which of the bounds belong to the interval.

    Examples
    --------
    >>> several = Interval(Integral, 2, None, closed="left")
    >>> print(several)
    an int in the range [2, inf)
    >>> several.allows(2), several.allows(1), several.allows("2")
    (True, False, False)
    """

    kind: type
    left: Any
    right: Any
    _: KW_ONLY
    closed: Literal["left", "right", "both", "neither"]

    def allows(self, value: Any) -> bool:
        """Whether a value is such a number."""
        is_number: bool = isinstance(value, self.kind)
        if not is_number:
            return False
        left = -math.inf if self.left is None else self.left
        right = math.inf if self.right is None else self.right
        is_bound = (self.closed in ("left", "both") and value == left) or (
            self.closed in ("right", "both") and value == right
        )
        return bool(left < value < right or is_bound)

    def __str__(self) -> str:
        number, name = (int, "an int") if self.kind is Integral else (float, "a float")
        left = "-inf" if self.left is None else number(self.left)
        right = "inf" if self.right is None else number(self.right)
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        return f"{name} in the range {opening}{left}, {right}{closing}"


@dataclass(frozen=True)
class StrOptions:
    """One of several strings."""

    options: Collection[str]

    def allows(self, value: Any) -> bool:
        """Whether a value is one of the strings."""
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


@dataclass(frozen=True)
class _Kind:
    """Values that a test accepts, and what errors call them."""

    name: str
    allows: Callable[[Any], bool]

    def __str__(self) -> str:
        return self.name


_NOT_NEGATIVE = Interval(Integral, 0, None, closed="left")
_TWO_OR_MORE = Interval(Integral, 2, None, closed="left")
_BOOLEAN = "an instance of 'bool' or an instance of 'numpy.bool'"
_KINDS = {
    "array-like": _Kind(
        "an array-like",
        lambda value: (
            (hasattr(value, "__len__") or hasattr(value, "__array__")) and not np.isscalar(value)
        ),
    ),
    "boolean": _Kind(_BOOLEAN, lambda value: isinstance(value, bool | np.bool_)),
    "verbose": _Kind(
        f"{_NOT_NEGATIVE}, {_BOOLEAN}",
        lambda value: isinstance(value, bool | np.bool_) or _NOT_NEGATIVE.allows(value),
    ),
    "cv_object": _Kind(
        f"{_TWO_OR_MORE}, an object implementing 'split' and 'get_n_splits', an iterable or None",
        lambda value: (
            value is None
            or _TWO_OR_MORE.allows(value)
            or (hasattr(value, "split") and hasattr(value, "get_n_splits"))
            or (isinstance(value, Iterable) and not isinstance(value, str))
        ),
    ),
}


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise if a parameter has a value that its class does not allow.

    For each parameter, ``_allowed_values`` has a list. It may hold `Interval`, `StrOptions`, types,
    None, and the names "array-like", "boolean", "verbose" and "cv_object". A parameter without a
    list is not checked. With ``sklearn.set_config(skip_parameter_validation=True)`` nothing is.

    Raises
    ------
    InvalidParameterError
        Naming the parameter and its value.
    """
    if get_config()["skip_parameter_validation"]:
        return
    allowed = getattr(estimator, "_allowed_values", {})
    for name, value in estimator.get_params(deep=False).items():
        kinds = [_as_kind(each) for each in allowed.get(name, [])]
        if kinds and not any(kind.allows(value) for kind in kinds):
            *first, last = map(str, kinds)
            texts = f"{', '.join(first)} or {last}" if first else last
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {texts}. "
                f"Got {value!r} instead."
            )


def _as_kind(allowed: Any) -> Interval | StrOptions | _Kind:
    if allowed is None:
        return _Kind("None", lambda value: value is None)
    if isinstance(allowed, str):
        return _KINDS[allowed]
    if isinstance(allowed, type):
        builtin = allowed.__module__ == "builtins"
        name = allowed.__qualname__ if builtin else f"{allowed.__module__}.{allowed.__qualname__}"
        return _Kind(f"an instance of {name!r}", lambda value: isinstance(value, allowed))
    kind: Interval | StrOptions = allowed
    return kind
