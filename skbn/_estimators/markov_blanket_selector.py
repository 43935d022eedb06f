"""MarkovBlanketSelector: the columns in the Markov blanket of a target, for predictions."""

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skbn._core.arrays import Booleans, Floats
from skbn._core.estimator import Interval, fit_method
from skbn._core.subsets import mask_of
from skbn._core.text import readable_value
from skbn._data.containers import frame_labels, row_labels
from skbn._data.row_values import in_order_of_rows
from skbn._displays.display import fitted_network_and_table
from skbn._displays.notebook import DocLinkMixin
from skbn._estimators.fitting import to_fit
from skbn._estimators.learner import GaussianBNLearner
from skbn._networks.descriptions import partial_r2
from skbn._networks.network import GaussianBayesianNetwork


@dataclass(eq=False, repr=False)
class MarkovBlanketSelector(DocLinkMixin, SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select the columns in the Markov blanket of a target.

    The target becomes a node of the network of the columns. Its parents, its children and their
    other parents make its Markov blanket: given these, no other column helps to predict it, if the
    network is right.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What learns the network: any learner, posterior or bootstrap, or a pipeline that ends with
        one and keeps the columns. None means ``GaussianBNLearner()``. It gets the target as the
        last column, in data frames of pandas or polars by the name of y, or "y".
    n_features : int or None, default=None
        The largest number of columns to keep, those with the largest `partial_r2_`. None keeps the
        whole blanket.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the columns and the target.
    network_ : GaussianBayesianNetwork
        Its network.
    target_ : str or int
        The target's node in it.
    partial_r2_ : ndarray of shape (n_features,)
        The share of the target's variance, given the rest of its blanket, that each column of the
        blanket explains in the network; 0 outside of the blanket.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,) of str
        Only if all columns given to `fit` have strings for names.

    See Also
    --------
    GaussianBayesianNetwork.markov_blanket : The blanket of any node.

    Notes
    -----
    The blanket follows from a search over all columns, in contrast to the local searches that are
    usual for blankets (Aliferis, Statnikov, Tsamardinos, Mani & Koutsoukos 2010, "Local causal and
    Markov blanket induction for causal discovery and feature selection for classification").

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skbn import MarkovBlanketSelector
    >>> wine = load_wine(as_frame=True).data
    >>> X, y = wine.drop(columns="proline"), wine["proline"]
    >>> selector = MarkovBlanketSelector(n_features=3).fit(X, y)
    >>> list(selector.get_feature_names_out())
    ['alcohol', 'ash', 'alcalinity_of_ash']
    >>> selector.transform(X).shape
    (178, 3)
    """

    _allowed_values: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left"), None]
    }
    estimator: Any = None
    _: KW_ONLY
    n_features: int | None = None
    estimator_: Any = field(init=False)
    network_: GaussianBayesianNetwork = field(init=False)
    target_: Hashable = field(init=False)
    partial_r2_: Floats = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: npt.NDArray[np.object_] = field(init=False)

    @fit_method
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the network of the columns and the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Numbers, or text, which makes the target a category (``nodes="auto"``). A pandas Series
            is matched to the rows of a pandas data frame by label.

        Returns
        -------
        self : MarkovBlanketSelector

        Raises
        ------
        ValueError, TypeError
            As the estimator's `fit` for the table with the target; if y is not a column.
        """
        learner = to_fit(type(self).__name__, self.estimator, GaussianBNLearner())
        labels = frame_labels(X)
        if labels is None:
            finite: Any = "allow-nan" if self._may_miss else True
            X = validate_data(self, X, y, ensure_all_finite=finite, y_numeric=False)[0]
        else:
            validate_data(self, X, y, skip_check_array=True)
        target = self._target(y, X)
        table, labels = _with_target(X, target, labels, getattr(y, "name", None))
        if target.dtype == object:
            given = learner.get_params().items()
            unset = [key for key, value in given if f"__{key}"[-7:] == "__nodes" and value is None]
            learner.set_params(**dict.fromkeys(unset, "auto"))
        self.estimator_ = learner.fit(table)
        self.network_, _ = fitted_network_and_table(self.estimator_, table)
        self._keep_blanket(labels)
        return self

    def _target(self, y: Any, X: Any) -> npt.NDArray[Any]:
        """Return the target in the order of the rows: numbers, or objects if it has others."""
        y = column_or_1d(in_order_of_rows(y, row_labels(X), len(X), "y"), warn=True)
        if len(y) != len(X):
            raise ValueError(
                f"y has {len(y)} values for the {len(X)} rows of X. Give one for each."
            )
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):  # a category
            return np.asarray(y, dtype=object)

    def _keep_blanket(self, labels: list[Any]) -> None:
        """Keep which columns, of these labels with the target's as the last, are in the blanket."""
        network, columns = self.network_, _columns_of(self.network_, labels)
        (self.target_,) = (node for node, numbers in columns.items() if len(labels) - 1 in numbers)
        blanket = network.markov_blanket(self.target_)
        self._mask_ = np.zeros(len(labels) - 1, dtype=bool)
        self.partial_r2_ = np.zeros(len(self._mask_))
        names: list[Any] = network._blocks.names
        target, around = names.index(self.target_), [names.index(node) for node in blanket]
        own = [(x, target) for x in around], {target: mask_of(around)}
        shares = partial_r2(network._model(), network._blocks, *own)
        for node, share in zip(blanket, shares, strict=True):
            self._mask_[columns[node]] = True
            self.partial_r2_[columns[node]] = share
        if self.n_features is not None:
            self._mask_[np.argsort(-self.partial_r2_, kind="stable")[self.n_features :]] = False

    def _get_support_mask(self) -> Booleans:
        check_is_fitted(self)
        return self._mask_

    @property
    def _may_miss(self) -> bool:
        """Whether values of X may be missing."""
        return self.estimator is not None and bool(get_tags(self.estimator).input_tags.allow_nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self._may_miss
        return tags


def _with_target(X: Any, target: npt.NDArray[Any], labels: Any, name: Any) -> tuple[Any, list[Any]]:
    """Return a table with the target as its last column, and the labels of all columns."""
    if labels is None:
        return np.column_stack([X, target]), list(range(X.shape[1] + 1))
    name = name if isinstance(name, str) else "y"
    while name in labels:
        name += "_"
    if all(isinstance(label, str) for label in labels):
        if hasattr(X, "assign"):  # pandas
            return X.assign(**{name: target}), [*labels, name]
        if hasattr(X, "with_columns"):  # polars
            return X.with_columns(type(X[labels[0]])(name, [*target])), [*labels, name]
    return np.column_stack([np.asarray(X), target]), list(range(len(labels) + 1))


def _columns_of(network: GaussianBayesianNetwork, labels: list[Any]) -> dict[Hashable, list[int]]:
    """Return the numbers of the columns that stand for each node."""
    blocks = network._blocks
    if not blocks.are_columns:
        return {
            node: sorted({blocks.columns[i].source for i in blocks.columns_of([v])})
            for v, node in enumerate(blocks.names)
        }
    numbers = list(range(len(labels)))
    for names in (labels, numbers):
        if {*names} == {*network.nodes}:
            return {node: [number] for number, node in enumerate(names)}
    raise ValueError(
        f"The network has the nodes {readable_value(network.nodes)}, which are not the columns of "
        f"X and the target, {readable_value(labels)}. The estimator must keep the columns."
    )
