"""PenaltyDisplay: held-out scores over penalties."""

from typing import Any, Self

import numpy as np

from skbn._core.arrays import Floats
from skbn._core.text import must_be, readable_value
from skbn._displays.appearance import style_for
from skbn._displays.display import Display, fitted_step

_TICK_GAP = 0.1  # least distance between ticks, as a share of the axis
_OF_LEARNER = "mean log-likelihood of a held-out row, nats"


class PenaltyDisplay(Display):
    """The held-out score over penalties, with standard errors.

    The chosen penalty is marked, and the dotted line is one standard error below the best mean.
    The mean numbers of edges are written above, if they are known.

    Use `from_estimator` to make one. Needs matplotlib (``pip install -e ".[plot]"``).

    Parameters
    ----------
    penalties : array-like of shape (n_penalties,)
    means : array-like of shape (n_penalties,)
        Mean scores of held-out rows.
    errors : array-like of shape (n_penalties,)
        Standard errors of the means.
    chosen : float, optional
        The penalty to mark.
    n_edges : array-like of shape (n_penalties,), optional
        Mean numbers of edges.
    score_name : str
        The name of the score's axis.

    Attributes
    ----------
    penalties, means, errors : ndarray of shape (n_penalties,), float64
    n_edges : ndarray of shape (n_penalties,), float64, or None
    chosen : float or None
    score_name : str
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    errorbar_ : matplotlib.container.ErrorbarContainer

    Raises
    ------
    ValueError
        If these are not numbers, have different lengths or are empty.

    See Also
    --------
    GaussianBNLearnerCV : What it draws.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearnerCV, PenaltyDisplay
    >>> learner = GaussianBNLearnerCV().fit(load_wine(as_frame=True).data)
    >>> display = PenaltyDisplay.from_estimator(learner)
    """

    def __init__(
        self,
        penalties: Any,
        means: Any,
        errors: Any,
        *,
        chosen: Any = None,
        n_edges: Any = None,
        score_name: str = _OF_LEARNER,
    ) -> None:
        self.penalties = _numbers("penalties", penalties)
        if self.penalties.ndim != 1 or not len(self.penalties):
            raise ValueError(must_be("penalties", "a list of one or more", penalties))
        self.means, self.errors = _numbers("means", means), _numbers("errors", errors)
        self.n_edges = None if n_edges is None else _numbers("n_edges", n_edges)
        for name in ("means", "errors", "n_edges"):
            array = getattr(self, name)
            if array is not None and array.shape != self.penalties.shape:
                raise ValueError(
                    f"{name} must have one value per penalty, {len(self.penalties)}; got an array "
                    f"of shape {array.shape}."
                )
        self.chosen = None if chosen is None else float(_numbers("chosen", chosen))
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the results of a fitted search over penalties.

        Parameters
        ----------
        estimator : GaussianBNLearnerCV, or GridSearchCV over penalties alone
            Or a pipeline that ends with one. With several scores, draw
            the one that `refit` names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : PenaltyDisplay

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is another estimator.
        ValueError
            If a search varies anything but a penalty, if its penalties are not numbers, if it
            tries them on different numbers of rows, or if it has several scores and `refit`
            names none of them.
        ImportError
            If matplotlib is not installed.
        """
        expected = "a GaussianBNLearnerCV, a GridSearchCV over a penalty, or a pipeline of one"
        search = fitted_step(estimator, "cv_results_", expected)
        results = search.cv_results_
        if "penalties" in results:
            display = cls(
                results["penalties"],
                results["mean_test_score"],
                results["se_test_score"],
                chosen=search.penalty_,
                n_edges=results["mean_n_edges"],
            )
        else:
            display = cls(**_of_search(search))
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        display : PenaltyDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If `ax` is something else.
        """
        ax = self._own_axes(ax, (6.4, 4.2))
        style = style_for(ax)
        order = np.argsort(self.penalties)
        x, means, errors = self.penalties[order], self.means[order], self.errors[order]
        if self.chosen is not None:
            label = f"chosen: {self.chosen:.3g}"
            ax.axvline(self.chosen, color=style.chosen, linewidth=4, zorder=0, label=label)
        self.errorbar_ = ax.errorbar(
            x, means, errors, color=style.positive, marker="o", markersize=4, capsize=3
        )
        if np.isfinite(means).any():
            best = int(np.nanargmax(means))
            if np.isfinite(errors[best]):
                label = "one standard error below the best"
                limit = means[best] - errors[best]
                ax.axhline(limit, color=style.neutral, linestyle=":", label=label)
        if (x > 0).all():
            ax.set_xscale("log")
        self._set_ticks(ax, x, None if self.n_edges is None else self.n_edges[order])
        ax.set(xlabel="penalty", ylabel=self.score_name)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False)
        return self._drawn_on(ax=ax)

    def _set_ticks(self, ax: Any, x: Floats, n_edges: Floats | None) -> None:
        """Write penalties below and numbers of edges above, where there is room."""
        places = np.log(x) if (x > 0).all() else x
        shown = [0]
        for i in range(1, len(x)):
            if places[i] - places[shown[-1]] >= _TICK_GAP * (places[-1] - places[0]):
                shown.append(i)
        ax.set_xticks(x[shown], [f"{penalty:.3g}" for penalty in x[shown]])
        ax.set_xticks([], minor=True)
        if n_edges is not None:
            above = ax.secondary_xaxis("top", functions=(np.positive, np.positive))
            above.set_xticks(x[shown], [f"{n:.3g}" for n in n_edges[shown]])
            above.set_xticks([], minor=True)
            above.set_xlabel("edges, mean over the folds")


def _numbers(name: str, values: Any) -> Floats:
    try:
        if values is None:
            raise TypeError
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; got {readable_value(values)}.") from None


def _of_search(search: Any) -> dict[str, Any]:
    """Return the results of one of scikit-learn's searches as arguments of the display."""
    results, params = search.cv_results_, search.cv_results_["params"]
    varied = sorted({name for each in params for name in each})
    if len(varied) != 1 or varied[0].split("__")[-1] != "penalty":
        raise ValueError(
            f"estimator must vary a penalty and nothing else; its parameters are {varied}."
        )
    if "iter" in results:
        raise ValueError(
            f"estimator must try all penalties on the same rows; {type(search).__name__} does not. "
            "Pass a GridSearchCV."
        )
    metric = "score"
    if search.multimetric_:
        metric = search.refit
        if not isinstance(metric, str):
            raise ValueError(
                f"estimator has several scores, {list(search.scorer_)}; refit must name the one to "
                f"draw; got {readable_value(metric)}."
            )
    penalties = [each[varied[0]] for each in params]
    best = getattr(search, "best_params_", {}).get(varied[0])
    return {
        "penalties": penalties,
        "means": results[f"mean_test_{metric}"],
        "errors": _standard_errors(search, metric),
        "chosen": best,
        "score_name": _OF_LEARNER if search.scoring is None else f"mean held-out {metric}",
    }


def _standard_errors(search: Any, metric: str) -> Floats:
    results, n_folds = search.cv_results_, search.n_splits_
    scores = np.array([results[f"split{i}_test_{metric}"] for i in range(n_folds)])
    if n_folds < 2:
        return np.full(scores.shape[1], np.nan)
    return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(n_folds))
