"""GaussianBNImputer: fills missing values by a network that is learned from them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skbn._core.estimator import fit_method
from skbn._displays.notebook import DocLinkMixin
from skbn._estimators.learner import GaussianBNLearner
from skbn._estimators.network_estimator import NetworkLearner
from skbn._networks.network import GaussianBayesianNetwork


class GaussianBNImputer(DocLinkMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing values by their conditional means under the network of the table.

    The values that are observed in a row predict those that are missing, by a Gaussian Bayesian
    network that is learned from all rows with their holes.

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
    estimator_: NetworkLearner
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(self, estimator: GaussianBNLearner | None = None) -> None:
        self.estimator = estimator

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
            As `GaussianBNLearner.fit`.
        """
        learner = GaussianBNLearner(missing="em") if self.estimator is None else self.estimator
        fitted = clone(learner).fit(X, sample_weight=sample_weight)
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
            As `GaussianBayesianNetwork.impute` returns: observed values are not changed by a bit.
            With ``set_output``, a data frame of that kind.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X is not a table of these columns.
        """
        check_is_fitted(self)
        return self.estimator_.impute(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
