"""LocalScoreTransformer: from a table to the local scores of its families."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from skbn._doc_links import DocLinkMixin
from skbn._scores._criteria import as_criterion
from skbn._scores._criterion import Criterion
from skbn._scores._local_scores import LocalScores
from skbn._validation import PARAMETER_CONSTRAINTS, read_rows

__all__ = ["LocalScoreTransformer"]


class LocalScoreTransformer(
    DocLinkMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    """Turn a table into the local scores of all families of its columns.

    A family is a child and a set of parents; the score of each follows from the
    child's regression on its parents. The result stands for the table wherever a
    table goes, and computes the scores only when they are asked for.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"} or Criterion, default="bic"
        What a family is worth, in nats, larger is better: with n rows, the residual sum of
        squares RSS of the regression and l parents,

        - "bic": ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2) * log(n) / 2``
        - "aic": ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2)``
        - "loglik": ``-n/2 * (log(2 pi RSS / n) + 1)``
        - "ebic": the BIC less ``penalty * l * log(m)`` for m columns
        - "bge": the marginal likelihood under a normal-Wishart prior, whose formula is in
          `BGe`

        The objects `BIC`, `AIC`, `LogLikelihood`, `EBIC` and `BGe` have parameters, which a
        grid search reaches as ``criterion__gamma`` and the like, and `Criterion` is what
        your own derives from.
    penalty : float, default=1.0
        Multiplies the complexity term of an information criterion; not negative. BGe has
        none, and takes 1 only.
    max_parents : int or None, default=None
        The largest number of parents. With K, only the sets of up to K + 1 columns are
        visited and stored, so that there may be a hundred columns, and only K + 2 rows are
        needed.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,) of str
        Only if `fit` was given a table whose columns all have strings for names.

    See Also
    --------
    GaussianBNLearner : Finds the network whose local scores have the largest sum.

    Notes
    -----
    The columns are centred and scaled to unit norm. Their triangular QR factor is
    led through all subsets of the columns by greedy Givens column swaps, started
    from many seeds in parallel (Alipourfard & Gao, sections 3 and 7).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import LocalScoreTransformer
    >>> wine = load_wine(as_frame=True).data
    >>> scores = LocalScoreTransformer().fit_transform(wine)
    >>> scores.n_families
    53248
    >>> intercept, coefficients = scores.coef("flavanoids", ["total_phenols"])
    >>> coefficients.round(3)
    array([1.38])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PARAMETER_CONSTRAINTS

    def __init__(
        self,
        criterion: str | Criterion = "bic",
        *,
        penalty: float = 1.0,
        max_parents: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.penalty = penalty
        self.max_parents = max_parents
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Take note of the columns; there is nothing else to learn.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns and 2 rows.
        y : ignored

        Returns
        -------
        self : LocalScoreTransformer

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value; if a
            parameter is not one of those above.
        """
        read_rows(self, X, reset=True, min_samples=2)
        return self

    def transform(self, X: Any) -> LocalScores:
        """Return the local scores of a table.

        They are those of the rows given here, whatever `fit` was given.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns that `fit` was given. Not modified, and copied.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value.
        """
        check_is_fitted(self)
        self._validate_params()
        rows = read_rows(self, X, reset=False)
        return LocalScores(
            rows,
            as_criterion(self.criterion),
            getattr(self, "feature_names_in_", None),
            penalty=float(self.penalty),
            max_parents=self.max_parents,
            n_jobs=self.n_jobs,
        )

    def set_output(self, *, transform: str | None = None) -> Self:
        """Do nothing: LocalScores keep the columns' names whatever the output's container.

        Parameters
        ----------
        transform : ignored

        Returns
        -------
        self : LocalScoreTransformer
        """
        return self
