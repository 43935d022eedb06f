"""Transformers of tables: into local scores, and into tables without holes."""

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skbn._core.estimator import (
    CallbackSupportMixin,
    StrOptions,
    all_or_nothing,
    answers_other_names,
    check_parameters,
    fit_method,
)
from skbn._core.resources import one_blas_thread
from skbn._data.nodes import Nodes
from skbn._data.sample import Sample, summarise
from skbn._displays.notebook import DocLinkMixin
from skbn._estimators import fitting
from skbn._estimators.fitting import PARAMETER_CONSTRAINTS, make_scores, read_sample, takes_missing
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.network_estimators import NetworkLearner
from skbn._networks.network import GaussianBayesianNetwork
from skbn._scores.base import BaseScores
from skbn._scores.criteria import Criterion
from skbn._scores.local_scores import LocalScores
from skbn._solver.incomplete_problem import expected_sample


@answers_other_names
@dataclass(eq=False, repr=False)
class LocalScoreTransformer(
    DocLinkMixin,
    CallbackSupportMixin,  # else a pipeline warns that its progress bar has no line for this step
    OneToOneFeatureMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    """Turn a table into the local scores of all families of its columns.

    A family is a child and a set of parents; its score follows from the child's regression on
    the parents. The result can be used wherever the table can, and computes the scores when they
    are first needed.

    Parameters
    ----------
    criterion : {"bic", "aic", "loglik", "ebic", "bge"} or Criterion, default="bic"
        The score of a family, in nats. With n rows, l parents and the residual sum of squares RSS
        of the regression,

        - "bic": ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2) * log(n) / 2``
        - "aic": ``-n/2 * (log(2 pi RSS / n) + 1) - penalty * (l + 2)``
        - "loglik": ``-n/2 * (log(2 pi RSS / n) + 1)``
        - "ebic": the BIC less ``penalty * l * log(m)`` for m columns, which is `EBIC` with its
          default parameters
        - "bge": the marginal likelihood under a normal-Wishart prior; `BGe` has the formula

        The objects `BIC`, `AIC`, `LogLikelihood`, `EBIC` and `BGe` have parameters, which a grid
        search reaches by names like ``criterion__gamma``. Derive your own criterion from
        `Criterion`.
    penalty : float, default=1.0
        Multiplies the complexity term of an information criterion; from 0 to 1e100. It has no
        effect on "loglik", whose complexity is 0, and must be 1 for BGe, which has none.
    max_parents : int or None, default=None
        The largest number of parents. With K, only the sets of up to K + 1 columns are visited
        and stored, so that a hundred columns are possible and K + 2 rows suffice.
    nodes : "auto", dict, array-like of shape (n_features,) or None, default=None
        Which columns make a node, as in `GaussianBNLearner`. None: each is one.
    missing : {"error", "em"}, default="error"
        What to do with missing values. "em" estimates the saturated Gaussian by EM, and returns the
        scores of the expected rows, which are not kept and count as
        ``scores.statistics.n_samples``: the smallest number of rows in which any two columns are
        both observed. `GaussianBNLearner(missing="em")` goes on to the score of the observed
        values.
    n_jobs : int or None, default=None
        Number of threads, by joblib's rules. It does not change a bit of the result.

    Attributes
    ----------
    n_features_in_ : int
    local_scores_ : LocalScores
        Those of all rows given to `fit`, `fit_transform` and `partial_fit`, without the rows.
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBNLearner : Finds the network with the largest sum of local scores.

    Notes
    -----
    The columns are centred and scaled to unit norm. Greedy Givens column swaps lead their
    triangular QR factor through all subsets of the columns, from many seeds in parallel
    (Alipourfard & Gao, sections 3 and 6).

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

    _allowed_values: ClassVar[dict[str, list[Any]]] = {
        **PARAMETER_CONSTRAINTS,
        "missing": [StrOptions({"error", "em"})],
    }
    # Weights and interventions are routed to transform, and so to fit_transform. If fit could
    # request them too, scikit-learn would raise an error unless both are requested.
    __metadata_request__fit: ClassVar[dict[str, str]] = {
        "sample_weight": UNUSED,
        "interventions": UNUSED,
    }
    criterion: str | Criterion = "bic"
    _: KW_ONLY
    penalty: float = 1.0
    max_parents: int | None = None
    nodes: Any = None
    missing: str = "error"
    n_jobs: int | None = None
    n_features_in_: int = field(init=False)
    feature_names_in_: npt.NDArray[np.object_] = field(init=False)
    local_scores_: LocalScores = field(init=False)
    _nodes_: Nodes | None = field(init=False)

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> Self:
        """Store the names of the columns, and a summary of the rows for `local_scores_`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; at least 2 columns and 2 rows. The blocks of a dask array or data frame
            are summarised in parallel, by dask's scheduler, and need not fit in memory together.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `transform`, for `local_scores_` alone.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As `sample_weight`.

        Returns
        -------
        self : LocalScoreTransformer

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value; if a parameter has a value
            other than those above; if the weights or interventions do not match the rows.

        Examples
        --------
        >>> import dask.array
        >>> from skbn import LocalScoreTransformer
        >>> rng = dask.array.random.default_rng(0)
        >>> X = rng.normal(size=(100_000, 5), chunks=(10_000, 5))
        >>> LocalScoreTransformer().fit(X).local_scores_
        <LocalScores of 80 families, 100,000 rows x 5 columns, criterion=BIC(), penalty=1, 256 B>
        """
        self._scores(X, sample_weight, interventions, reset=True)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of `local_scores_`.

        Only a summary of the rows is kept, so that they need not fit in memory. The scores are
        those of one table of all rows, up to rounding.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As in `fit`, with any number of rows, even none. No value may be missing, whatever
            `missing` says: EM needs all rows together.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in `transform`.

        Returns
        -------
        self : LocalScoreTransformer

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, or its columns are not those of the rows before, or these had
            interventions. The transformer then keeps those rows.

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
        check_parameters(self)  # for each chunk: the parameters may have changed
        # Chunks without rows do not tell the levels of categories.
        is_first = not hasattr(self, "local_scores_") or not self.local_scores_.sample.shape[0]
        if isinstance(X, list | tuple) and not X:
            return self
        if not is_first and self.local_scores_.sample.is_experiment:
            raise ValueError(
                "partial_fit cannot add rows to those of a fit with interventions. Fit to all rows "
                "at once."
            )
        with all_or_nothing(self) if is_first else nullcontext():
            how = {"reset": is_first, "needs_rows": False, "is_chunk": True}
            chunk = read_sample(self, X, sample_weight, **how)
            with one_blas_thread():
                # chunk.summary refuses rows that all have weight 0.
                summary = summarise(chunk.rows, chunk.weight) if chunk.has_rows else chunk.summary
                if not is_first:
                    summary = self.local_scores_.sample.summary.merge(summary)
            sample = Sample.of_summary(summary, self._nodes_)
            self.local_scores_ = make_scores(self, sample)
        return self

    def transform(
        self, X: Any, sample_weight: Any = None, interventions: Any = None
    ) -> LocalScores:
        """Return the local scores of this table's rows, not of the rows of `fit`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns of `fit`. X is copied, not modified. For a dask array or data frame, the
            local scores keep only a summary, no rows.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in `GaussianBNLearner.fit`. For a table of dask, the
            weights may be an array in memory, or an array or a series of dask with the same blocks
            of rows.
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            Which columns an experimenter set in each row, as in `GaussianBNLearner.fit`.

        Returns
        -------
        scores : LocalScores

        Raises
        ------
        ValueError, TypeError
            If X is not such a table, naming the column and the value; if the weights or
            interventions do not match the rows.
        """
        check_is_fitted(self)
        check_parameters(self)
        return self._scores(X, sample_weight, interventions, reset=False)

    @fit_method
    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> LocalScores:
        """Fit to a table and return its local scores.

        Raises what `fit` and `transform` raise.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        interventions : data frame or array-like of bool, or sequence of length n_samples, optional
            As in `transform`, and so are the others.

        Returns
        -------
        scores : LocalScores
        """
        return self._scores(X, sample_weight, interventions, reset=True)

    def _scores(
        self, X: Any, sample_weight: Any, interventions: Any, *, reset: bool
    ) -> LocalScores:
        """Return the scores of a table, or of what EM expects of its rows if values are missing.

        If `reset`, the columns are learned, and the scores kept.
        """
        how = {"needs_rows": interventions is not None, "may_miss": takes_missing(self)}
        sample = read_sample(self, X, sample_weight, reset=reset, **how)
        if not reset:
            sample.counted(sample_weight)
        scores = make_scores(self, sample).with_interventions(interventions)
        if not sample.is_complete:
            scores = make_scores(self, expected_sample(scores))
        if reset:
            self.local_scores_ = scores._with_sample(scores.sample.without_rows())
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return dict(super().__getstate__())  # copied, in case another thread is fitting

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "local_scores_")

    def set_output(self, *, transform: str | None = None) -> Self:
        """Do nothing: LocalScores keep the columns' names with every output container.

        Parameters
        ----------
        transform : ignored

        Returns
        -------
        self : LocalScoreTransformer
        """
        return self


@dataclass(eq=False, repr=False)
class GaussianBNImputer(DocLinkMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing values by conditional means, or most probable levels, by the table's network.

    The network is learned from all rows with their holes.

    Parameters
    ----------
    estimator : GaussianBNLearner or None, default=None
        What learns the network. None means ``GaussianBNLearner(missing="em")``.

    Attributes
    ----------
    estimator_ : GaussianBNLearner
        Fitted to the table.
    network_ : GaussianBayesianNetwork
        Its network. `sample_missing` of it draws the holes, which conditional means do not.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBNLearner.impute : The same, of a learner that is fitted already.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from skbn import GaussianBNImputer
    >>> wine = load_wine(as_frame=True).data[["alcohol", "proline", "hue"]]
    >>> holes = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.1)
    >>> imputer = GaussianBNImputer().set_output(transform="pandas")
    >>> imputer.fit_transform(holes).round(2).head(3)
       alcohol  proline   hue
    0    14.23   1065.0  0.95
    1    13.49   1050.0  1.05
    2    13.16   1185.0  1.03
    """

    _allowed_values: ClassVar[dict[str, list[Any]]] = {"estimator": [GaussianBNLearner, None]}
    estimator: GaussianBNLearner | None = None
    estimator_: NetworkLearner = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: npt.NDArray[np.object_] = field(init=False)

    @property
    def network_(self) -> GaussianBayesianNetwork:
        """The network that fills the holes."""
        return self.estimator_.network_

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the network of a table with missing values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As for `GaussianBNLearner.fit`.

        Returns
        -------
        self : GaussianBNImputer

        Raises
        ------
        ValueError, TypeError
            As `GaussianBNLearner.fit`; if X is scores that a network gets no parameters from.
        """
        default = GaussianBNLearner(missing="em")
        learner = fitting.to_fit(type(self).__name__, self.estimator, default)
        fitted = learner.fit(X, sample_weight=sample_weight)
        if isinstance(X, BaseScores) and not fitted.network_.__sklearn_is_fitted__():
            raise ValueError(
                f"X is {type(X).__name__}, so that the network has no parameters, and there is "
                "nothing to impute with. Fit the imputer to one table."
            )
        for name in ("feature_names_in_", "n_features_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        self.estimator_ = fitted
        return self

    def transform(self, X: Any) -> Any:
        """Return a table with its missing values filled.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The columns of `fit`; any values may be missing.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features), or a data frame
            As `GaussianBayesianNetwork.impute` returns, or as ``set_output`` asks for.

        Raises
        ------
        ValueError, TypeError
            If X is not a table of these columns.
        """
        check_is_fitted(self)
        return self.estimator_.impute(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
