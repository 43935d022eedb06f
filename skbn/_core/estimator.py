"""What every estimator here does for scikit-learn, whatever it estimates.

A method decorated by `fit_method` checks the parameters and runs inside `fit_task`, which calls
scikit-learn's callbacks (from version 1.9 on; with older versions there are none). Under
`all_or_nothing` a fit that fails leaves no fitted attributes and no tables in memory. The mixins
give estimators `set_callbacks` and links to their documentation. Mixins come before BaseEstimator.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from skbn._core.parameters import check_parameters
from skbn._core.progress import Listener, printing_listener

__all__ = [
    "N_WRAPPERS",
    "CallbackSupportMixin",
    "DocLinkMixin",
    "all_or_nothing",
    "fit_method",
    "fit_task",
    "listeners_of",
]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as SklearnCallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn 1.6 to 1.8
    N_WRAPPERS = 1

    class CallbackSupportMixin:
        """An estimator without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method

else:
    N_WRAPPERS = 2  # the number of functions that `fit_method` puts around a method

    class CallbackSupportMixin(SklearnCallbackSupportMixin):  # type: ignore[no-redef]
        """An estimator that knows whether it has callbacks.

        scikit-learn has no public way to ask, and without one every fit would create the tasks
        that callbacks hear of. These take half a millisecond, 8 % of a fit of 8 columns.
        """

        _has_callbacks = False

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


# Fits


def fit_method(method: Method) -> Method:
    """Decorate a method that fits: check the parameters first, tear callbacks down at the end."""

    @wraps(method)
    def checked_method(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        check_parameters(estimator)
        return method(estimator, *args, **kwargs)

    return cast(Method, with_callbacks(checked_method))


@contextmanager
def fit_task(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, max_subtasks: int = 0
) -> Iterator[Any]:
    """Call the callbacks when a fit begins and when it ends, unless it raises.

    Yields the `sklearn.callback.CallbackContext` of the fit, or None before scikit-learn 1.9.

    Parameters
    ----------
    estimator : estimator
        One whose method, decorated by `fit_method`, is running.
    X, y, sample_weight : object
        What the fit was given.
    max_subtasks : int
        The largest number of subtasks that the fit is divided into.
    """
    if not hasattr(estimator, "set_callbacks"):
        yield None
        return
    # The underscore is for users; scikit-learn's guide for developers makes it part of the API.
    context = estimator._init_callback_context(max_subtasks=max_subtasks)
    given = {"estimator": estimator, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
    context.call_on_fit_task_begin(**given)
    yield context
    context.call_on_fit_task_end(**given, reconstruction_attributes={})


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Remove the result of an earlier fit, and all of this one if it fails or is interrupted.

    Underflow is ignored: a user may have told numpy to raise it, and numbers in large units do
    underflow.

    Raises
    ------
    MemoryError
        In place of a MemoryError that does not say what to do.
    """
    _forget(estimator)
    try:
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
        if name.endswith("_") and not name.startswith("_"):
            delattr(estimator, name)


def listeners_of(estimator: BaseEstimator, context: Any) -> tuple[Listener, ...]:
    """Return the listeners to an estimator's progress: the terminal if `verbose`, and callbacks.

    Parameters
    ----------
    estimator : estimator
        With the parameter `verbose`.
    context : CallbackContext or None
        What `fit_task` yields; None outside `fit`.
    """
    listeners = []
    if estimator.verbose:
        listeners.append(printing_listener(type(estimator).__name__))
    if context is not None and estimator._has_callbacks:
        listeners.append(_callback_listener(estimator, context))
    return tuple(listeners)


def _callback_listener(estimator: BaseEstimator, context: Any) -> Listener:
    """Return a listener for which each percent is a subtask of `context`.

    Raises
    ------
    RuntimeError
        When a callback asks to stop: an exact search that is not finished has no result.
    """
    told = 0

    def listen(percent: int, seconds_left: float) -> None:
        nonlocal told
        for _ in range(told, percent):
            subtask = context.subcontext("percent of the search")
            subtask.call_on_fit_task_begin(estimator=estimator)
            if subtask.call_on_fit_task_end(estimator=estimator):
                raise RuntimeError(
                    f"A callback stopped the search after {percent} % of its work; an exact "
                    "search has no result before it is finished."
                )
        told = percent

    return listen


class DocLinkMixin:
    """Links from an estimator's HTML to its page, and from its parameters to their lines.

    A class derived in another package has no page here, and gets no links.

    Examples
    --------
    >>> from skbn import BIC
    >>> "https://skbn.readthedocs.io/en/latest/api/skbn.BIC.html" in BIC()._repr_html_()
    True
    """

    # The names are those of scikit-learn's guide for developers.
    _doc_link_module = "skbn"
    _doc_link_template = "https://skbn.readthedocs.io/en/latest/api/skbn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
