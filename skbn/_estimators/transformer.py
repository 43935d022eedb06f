"""LocalScoreTransformer: from a table to the local scores of its families."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skbn._core.estimator import CallbackSupportMixin, DocLinkMixin, fit_method, fit_task
from skbn._core.parameters import check_parameters
from skbn._data.row_summary import RowSummary
from skbn._data.sample import Sample
from skbn._estimators.chunks import add_rows
from skbn._estimators.failures import all_or_nothing
from skbn._estimators.validation import PARAMETER_CONSTRAINTS, make_scores, read_sample
from skbn._scores.criterion import Criterion
from skbn._scores.local_scores import LocalScores

__all__ = ["LocalScoreTransformer"]


class LocalScoreTransformer(
    DocLinkMixin,
    CallbackSupportMixin,  # else a pipeline warns that its progress bar has no line for this step
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
        - "ebic": the BIC less ``penalty * l * log(m)`` for m columns, which is `EBIC` with its
          default parameters
        - "bge": the marginal likelihood under a normal-Wishart prior, whose formula is in
          `BGe`

        The objects `BIC`, `AIC`, `LogLikelihood`, `EBIC` and `BGe` have parameters, which a
        grid search reaches as ``criterion__gamma`` and the like, and `Criterion` is what
        your own derives from.
    penalty : float, default=1.0
        Multiplies the complexity term of an information criterion; from 0 to 1e100. That of
        "loglik" is 0, whatever the penalty; BGe has none, and takes 1 only.
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
    local_scores_ : LocalScores
        Those of all rows that `fit`, `fit_transform` and `partial_fit` were given. The rows
        themselves are not kept.
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
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

    _allowed_values: ClassVar[dict[str, list[Any]]] = PARAMETER_CONSTRAINTS
    # Weights are routed to transform, and so to fit_transform. If fit could ask for them too,
    # scikit-learn would refuse whoever does not ask for both.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}
    local_scores_: LocalScores
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

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

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take note of the columns, and of what the scores of these rows follow from.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns and 2 rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `transform`; of `local_scores_`. What `transform` returns has the weights
            that it is given itself.

        Returns
        -------
        self : LocalScoreTransformer

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value; if a
            parameter is not one of those above; if the weights are not those of the rows.
        """
        self._fit(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those whose scores `local_scores_` holds.

        Of the rows only their number, means and triangular factor are kept, so that there
        may be more of them than the memory holds. The scores are those of one table of all
        rows, up to rounding. Rows come in addition to those of an earlier `fit`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns, and one row.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `transform`.

        Returns
        -------
        self : LocalScoreTransformer

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, or its columns are not those of the rows before, which
            are kept then.

        Examples
        --------
        >>> import numpy as np
        >>> from skbn import GaussianBNLearner, LocalScoreTransformer
        >>> rng = np.random.default_rng(0)
        >>> transformer = LocalScoreTransformer()
        >>> for _ in range(10):
        ...     transformer = transformer.partial_fit(rng.normal(size=(1000, 5)))
        >>> transformer.local_scores_
        <LocalScores of 80 families, 10,000 rows x 5 columns, criterion=BIC(), penalty=1, 256 B>
        >>> GaussianBNLearner().fit_predict(transformer.local_scores_).number_of_edges()
        0
        """
        check_parameters(self)  # also of later chunks: their parameters are those of the result
        before = self.local_scores_.sample.summary if hasattr(self, "local_scores_") else None
        self._keep(add_rows(self, before, X, sample_weight))
        return self

    def transform(self, X: Any, sample_weight: Any = None) -> LocalScores:
        """Return the local scores of a table.

        They are those of the rows given here, whatever `fit` was given.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns that `fit` was given. Not modified, and copied.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, not negative: 2 as if it came twice, 0 as if it did
            not come. The sum takes the place of the number of rows. The weights of a pandas
            Series go to the rows of the same labels, if X is a pandas data frame.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value; if the weights are
            not those of the rows.
        """
        check_is_fitted(self)
        check_parameters(self)
        sample = read_sample(self, X, reset=False)
        return self._scores_of(sample.with_weight(sample_weight))

    @fit_method
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> LocalScores:
        """Take note of the columns, and return the local scores of the table.

        Raises what `fit` and `transform` raise; `local_scores_` are those of the rows with
        their weights.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns and 2 rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `transform`.

        Returns
        -------
        scores : LocalScores
        """
        return self._scores_of(self._fit(X, y, sample_weight))

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Sample:
        with all_or_nothing(self), fit_task(self, X, y, sample_weight):
            return self._learn(X, sample_weight)

    def _learn(self, X: Any, sample_weight: Any) -> Sample:
        sample = read_sample(self, X, reset=True, min_samples=2).with_weight(sample_weight)
        self._keep(sample.summary)
        return sample

    def _scores_of(self, sample: Sample) -> LocalScores:
        return make_scores(self, sample, self.criterion, self.penalty)

    def _keep(self, summary: RowSummary) -> None:
        self.local_scores_ = self._scores_of(Sample.of_summary(summary))

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # a copy, which a fit in another thread leaves alone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "local_scores_")

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
