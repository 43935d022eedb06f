"""What every fit does for scikit-learn: check parameters, call callbacks, report progress.

scikit-learn has callbacks from version 1.9 on. With older versions, estimators have no
`set_callbacks`, and no callback is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator, _fit_context

from skbn._core.progress import Listener, printing_listener

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    N_WRAPPERS = 2  # how many functions `fit_method` puts around a method
except ImportError:  # scikit-learn 1.6 to 1.8
    N_WRAPPERS = 1

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An estimator without callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["N_WRAPPERS", "CallbackSupportMixin", "fit_method", "fit_task", "listeners_of"]

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_method(method: Method) -> Method:
    """Decorate a method that fits: check the parameters first, tear callbacks down at the end."""
    return cast(Method, with_callbacks(_fit_context(prefer_skip_nested_validation=True)(method)))


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
    context = estimator._init_callback_context(max_subtasks=max_subtasks)
    given = {"estimator": estimator, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
    context.call_on_fit_task_begin(**given)
    yield context
    context.call_on_fit_task_end(**given, reconstruction_attributes={})


def listeners_of(estimator: BaseEstimator, context: Any) -> tuple[Listener, ...]:
    """Return what hears of an estimator's progress: the terminal if `verbose`, and callbacks.

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
    # Subtasks cost time even if nobody hears of them, which small fits would notice.
    if context is not None and getattr(estimator, "_skl_callbacks", None):
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
