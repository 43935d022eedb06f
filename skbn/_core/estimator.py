"""What every estimator here does for scikit-learn.

A class lists in ``_allowed_values`` what each of its parameters may be, and `check_parameters`
compares; the errors are worded like scikit-learn's own. A method decorated by `fit_method` checks
the parameters, calls scikit-learn's callbacks (from version 1.9 on; with older versions there are
none), and leaves no fitted attributes and no tables in memory if it fails.
"""

import logging
import math
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, wraps
from inspect import signature
from numbers import Integral
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skbn._core.arrays import Random
from skbn._core.other_names import OURS
from skbn._core.resources import Listener, say, telling_listener
from skbn._core.text import bytes_of, readable_value

_logger = logging.getLogger("skbn")

Method = TypeVar("Method", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

try:
    from sklearn.callback import CallbackSupportMixin as SklearnCallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn 1.6 to 1.8

    class CallbackSupportMixin:
        """An estimator without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method

else:

    class CallbackSupportMixin(SklearnCallbackSupportMixin):  # type: ignore[no-redef]
        """An estimator that knows whether it has callbacks.

        Without callbacks, a fit saves time by not creating the tasks that they are told of.
        """

        _has_callbacks = False
        _max_subtasks = 0  # of a fit

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set scikit-learn's callbacks, such as a progress bar; none removes them.

            Parameters
            ----------
            *callbacks : sklearn.callback.FitCallback

            Returns
            -------
            self : estimator

            Raises
            ------
            TypeError
                If one of them is not a callback.
            """
            super().set_callbacks(*callbacks)
            self._has_callbacks = bool(callbacks)
            return self

        def __sklearn_clone__(self) -> Self:
            # sklearn.base.clone keeps the callbacks.
            clone: Self = super().__sklearn_clone__()
            clone._has_callbacks = self._has_callbacks
            return clone


# Parameters


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value or a type that its class does not allow."""


@dataclass(frozen=True)
class Interval:
    """The numbers of one kind between two bounds; a bound of None is infinite.

    >>> several = Interval(Integral, 2, None, closed="left")
    >>> print(several)
    an int in the range [2, inf)
    >>> several.allows(2), several.allows(1), several.allows("2")
    (True, False, False)
    """

    kind: type
    left: Any  # float, int or None
    right: Any
    _: KW_ONLY
    # which of the bounds belong to the interval
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
    "memory size": _Kind(
        "a str such as '2GB'", lambda value: isinstance(value, str) and bool(bytes_of(value))
    ),
    "random_state": _Kind(
        "None, an integer from 0 to 2**32 - 1, or a Generator or RandomState of numpy.random",
        lambda value: (
            value is None
            or isinstance(value, Random)
            or (isinstance(value, Integral) and 0 <= int(value) < 2**32)
        ),
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

    For each parameter that is checked, ``_allowed_values`` has a list of `Interval`, `StrOptions`,
    types, None, and names of `_KINDS`. With ``sklearn.set_config(skip_parameter_validation=True)``
    nothing is checked.
    """
    # Not by get_params, which takes a tenth of a millisecond: it inspects signatures.
    kinds = _kinds_of(type(estimator))  # type: ignore[arg-type]
    _check(type(estimator).__name__, kinds, vars(estimator))


def check_values(owner: str, allowed: Mapping[str, list[Any]], values: Mapping[str, Any]) -> None:
    """Raise if an argument of a function has a value that is not allowed, as `check_parameters`."""
    _check(owner, {name: [*map(_as_kind, kinds)] for name, kinds in allowed.items()}, values)


def _check(owner: str, allowed: Mapping[str, list[Any]], values: Mapping[str, Any]) -> None:
    if get_config()["skip_parameter_validation"]:
        return
    for name, kinds in allowed.items():
        if name in values and not any(kind.allows(values[name]) for kind in kinds):
            *first, last = map(str, kinds)
            texts = f"{', '.join(first)} or {last}" if first else last
            raise InvalidParameterError(
                f"The {name!r} parameter of {owner} must be {texts}. Got {values[name]!r} instead."
            )


@lru_cache
def _kinds_of(estimator: Hashable) -> dict[str, list[Interval | StrOptions | _Kind]]:
    """Return what the class of an estimator allows, by parameter, in the order of their names."""
    allowed = getattr(estimator, "_allowed_values", {})
    return {name: list(map(_as_kind, allowed[name])) for name in sorted(allowed)}


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


def answers_other_names(cls: Class) -> Class:
    """Decorate an estimator, so that errors about a parameter of another program name ours."""
    for name in ("__init__", "set_params"):
        setattr(cls, name, _answering(getattr(cls, name)))
    return cls


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def answering(self: Any, *args: Any, **given: Any) -> Any:
        try:
            return method(self, *args, **given)
        except (TypeError, ValueError) as error:
            known = self._get_param_names()
            for theirs in given:
                if theirs not in known and OURS.get(theirs) in known:
                    raise type(error)(
                        f"{type(self).__name__} has no parameter {theirs!r}. It is called "
                        f"{OURS[theirs]!r} here; its docstring says what it takes."
                    ) from None
            raise

    return answering


def random_generator(random_state: Any) -> Random:
    """Return the generator to draw from, a new one for a seed, and NumPy's global one for None."""
    kind = _KINDS["random_state"]
    if not kind.allows(random_state):
        raise ValueError(f"random_state must be {kind}; got {readable_value(random_state)}.")
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)


class NetworkHintMixin:
    """Tells users who ask an estimator for a method of its network where that method is."""

    _network_class: type
    _network_name = "network_"

    def __getattr__(self, name: str) -> Any:
        # Called only when the usual lookup has failed; that is repeated for its error.
        try:
            return super().__getattribute__(name)
        except AttributeError as error:
            if name.startswith("_") or not callable(getattr(self._network_class, name, None)):
                raise
            text = f"{error}. Ask its network: learner.{self._network_name}.{name}(...)."
            raise AttributeError(text, name=name, obj=self) from None


# Fits


def fit_method(method: Method) -> Method:
    """Decorate a method that fits, so that it only has to fit.

    It checks the parameters first, calls the callbacks when the fit begins and when it ends, and is
    `all_or_nothing`.
    """
    arguments = signature(method)

    @wraps(method)
    def fitting(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        check_parameters(estimator)
        with all_or_nothing(estimator):
            if not hasattr(estimator, "set_callbacks"):
                return method(estimator, *args, **kwargs)
            given = arguments.bind_partial(estimator, *args, **kwargs).arguments
            task = {
                "estimator": estimator,
                "X": given.get("X"),
                "y": given.get("y"),
                "metadata": {"sample_weight": given.get("sample_weight")},
            }
            # The underscore is for users; for developers scikit-learn's guide has it in the API.
            context = estimator._init_callback_context(max_subtasks=estimator._max_subtasks)
            context.call_on_fit_task_begin(**task)
            result = method(estimator, *args, **kwargs)
            context.call_on_fit_task_end(**task, reconstruction_attributes={})
            return result

    return cast(Method, with_callbacks(fitting))


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Remove the result of an earlier fit, and all of this one if it fails or is interrupted.

    Underflow is ignored, even if the user has told numpy to raise it: numbers in large units do
    underflow.

    Raises MemoryError, in place of a MemoryError that does not say what to do.
    """
    try:
        _forget(estimator)
        with np.errstate(under="ignore"):
            yield
    except BaseException as error:
        _forget(estimator)
        # Interactive sessions keep the last traceback, which would keep the tables alive.
        traceback.clear_frames(error.__traceback__)
        if isinstance(error, MemoryError):
            details = f": {error}" if str(error) else ""
            raise MemoryError(
                f"The system refused memory that seemed to be available{details}. "
                "Free some, leave out columns, or let the search go through more parts by a "
                "smaller max_memory."
            ) from error
        raise


def _forget(estimator: BaseEstimator) -> None:
    """Remove the fitted attributes of an estimator."""
    for name in [*vars(estimator)]:
        if name.endswith("_"):
            delattr(estimator, name)


def listeners_of(estimator: BaseEstimator) -> tuple[Listener, ...]:
    """Return the listeners to an estimator's progress: the terminal if `verbose`, and callbacks.

    The logger "skbn" is one too, if it is set to level INFO.

    `estimator`: with the parameter `verbose`
    """
    context = vars(estimator).get("_callback_fit_ctx")  # scikit-learn's, while a fit runs
    listeners = []
    if estimator.verbose:
        listeners.append(telling_listener(type(estimator).__name__, say))
    if _logger.isEnabledFor(logging.INFO):
        listeners.append(telling_listener(type(estimator).__name__, _logger.info))
    if context is not None and estimator._has_callbacks:
        listeners.append(_callback_listener(estimator, context))
    return tuple(listeners)


def _callback_listener(estimator: BaseEstimator, context: Any) -> Listener:
    """Return a listener for which each percent is a subtask of `context`.

    Raises RuntimeError when a callback asks to stop: a search that is not finished has no result.
    """
    told = 0

    def listen(percent: int, seconds_left: float, note: str) -> None:
        nonlocal told
        for _ in range(told, percent):
            subtask = context.subcontext("percent of the search")
            subtask.call_on_fit_task_begin(estimator=estimator)
            if subtask.call_on_fit_task_end(estimator=estimator):
                raise RuntimeError(
                    f"A callback stopped the search after {percent} % of its work; a search has "
                    "no result before it is finished."
                )
        told = percent

    return listen
