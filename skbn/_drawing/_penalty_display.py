"""PenaltyDisplay: the held-out score over penalties."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skbn._drawing._graph_of import fitted_step
from skbn._drawing._styles import style_for

__all__ = ["PenaltyDisplay"]

Floats = npt.NDArray[np.float64]

_MOST_TICKS = 12


class PenaltyDisplay:
    """The held-out score over penalties, with standard errors.

    The penalty that was chosen is marked; the dotted line is one standard error below the
    best mean. Above stand the mean numbers of edges, where they are known.

    Use `from_estimator` to make one. Needs matplotlib (``pip install skbn[plot]``).

    Parameters
    ----------
    penalties : array-like of shape (n_penalties,)
    means : array-like of shape (n_penalties,)
        Mean log-likelihood of held-out rows, in nats.
    errors : array-like of shape (n_penalties,)
        Standard errors of the means.
    chosen : float, optional
        The penalty that is to be marked.
    n_edges : array-like of shape (n_penalties,), optional
        Mean numbers of edges.

    Raises
    ------
    ValueError
        If these are not of the same length, or there are none.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    errorbar_ : matplotlib.container.ErrorbarContainer

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNLearnerCV, PenaltyDisplay
    >>> learner = GaussianBNLearnerCV().fit(load_wine(as_frame=True).data)
    >>> display = PenaltyDisplay.from_estimator(learner)
    """

    def __init__(
        self, penalties: Any, means: Any, errors: Any, *, chosen: Any = None, n_edges: Any = None
    ) -> None:
        given = {"penalties": penalties, "means": means, "errors": errors, "n_edges": n_edges}
        arrays = {k: np.asarray(v, dtype=float) for k, v in given.items() if v is not None}
        shape = arrays["penalties"].shape
        if len(shape) != 1 or shape == (0,):
            raise ValueError(f"penalties must be a list of one or more; got {penalties!r}.")
        for name, array in arrays.items():
            if array.shape != shape:
                raise ValueError(
                    f"{name} must be as many as the penalties, {shape[0]}; got an array of shape "
                    f"{array.shape}."
                )
        self.penalties, self.means = arrays["penalties"], arrays["means"]
        self.errors, self.n_edges = arrays["errors"], arrays.get("n_edges")
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted search over penalties has found.

        Parameters
        ----------
        estimator : GaussianBNLearnerCV, or GridSearchCV over penalties alone
            Or a pipeline that ends with one.
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
            If a grid search varies another parameter, or none that is called penalty.
        """
        expected = "a GaussianBNLearnerCV, a GridSearchCV over a penalty, or a pipeline of one"
        search = fitted_step(estimator, "cv_results_", expected)
        results = search.cv_results_
        if "penalties" in results:
            errors, n_edges = results["se_test_score"], results["mean_n_edges"]
            penalties, chosen = results["penalties"], search.penalty_
        else:
            penalties, chosen = _grid(search)
            errors, n_edges = _standard_errors(results), None
        means = results["mean_test_score"]
        return cls(penalties, means, errors, chosen=chosen, n_edges=n_edges).plot(ax=ax)

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
        """
        check_matplotlib_support("PenaltyDisplay.plot")
        from matplotlib import pyplot

        if ax is None:
            _, ax = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
        style = style_for(ax)
        order = np.argsort(self.penalties)
        x, means, errors = self.penalties[order], self.means[order], self.errors[order]
        if self.chosen is not None:
            ax.axvline(
                self.chosen,
                color=style.chosen,
                linewidth=4,
                zorder=0,
                label=f"chosen: {self.chosen:.3g}",
            )
        self.errorbar_ = ax.errorbar(
            x, means, errors, color=style.positive, marker="o", markersize=4, capsize=3
        )
        best = int(np.argmax(means))
        if np.isfinite(errors[best]):
            ax.axhline(
                means[best] - errors[best],
                color=style.neutral,
                linestyle=":",
                label="one standard error below the best",
            )
        if (x > 0).all():
            ax.set_xscale("log")
        shown = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MOST_TICKS)).round().astype(int))
        ax.set_xticks(x[shown], [f"{penalty:.3g}" for penalty in x[shown]])
        ax.set_xticks([], minor=True)
        ax.set(xlabel="penalty", ylabel="mean log-likelihood of a held-out row, nats")
        if self.n_edges is not None:
            above = ax.secondary_xaxis("top")
            above.set_xticks(x[shown], [f"{n:.0f}" for n in self.n_edges[order][shown]])
            above.set_xticks([], minor=True)
            above.set_xlabel("edges, mean over the folds")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _grid(search: Any) -> tuple[list[float], float]:
    """Return the penalties of a grid search, and the best."""
    params = search.cv_results_["params"]
    varied = sorted({name for each in params for name in each})
    if len(varied) != 1 or varied[0].split("__")[-1] != "penalty":
        raise ValueError(
            f"estimator must vary a penalty and nothing else; its parameters are {varied}."
        )
    return [each[varied[0]] for each in params], search.best_params_[varied[0]]


def _standard_errors(results: dict[str, Any]) -> Floats:
    n_folds = sum(key.startswith("split") and key.endswith("_test_score") for key in results)
    scores = np.array([results[f"split{i}_test_score"] for i in range(n_folds)])
    if n_folds < 2:
        return np.full(scores.shape[1], np.nan)
    return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(n_folds))
