"""Warnings about the data and about what was computed from them, one class for each kind.

`DegenerateColumnsError` is the error that names all constant and redundant columns of a table.

Python's filters switch off a single kind by its class, or all of them by `DataWarning`:

>>> import warnings
>>> import skbn
>>> warnings.filterwarnings("ignore", category=skbn.exceptions.DiscreteChildWarning)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

__all__ = [
    "ApproximateEvidenceWarning",
    "DataWarning",
    "DegenerateColumnsError",
    "DependentRowsWarning",
    "DiscreteChildWarning",
    "DummyEdgeWarning",
    "MaxParentsWarning",
    "MissingCodeWarning",
    "MissingValuesWarning",
    "NonstationaryWarning",
    "NumericTextWarning",
    "OrderPriorWarning",
    "PenaltyRangeWarning",
    "RedundantColumnsWarning",
    "RepeatedRowsWarning",
    "SampleWeightWarning",
    "SamplingWarning",
    "SkewedResidualsWarning",
    "UncertainDirectionsWarning",
]


class DegenerateColumnsError(ValueError):
    """Columns are constant, or linear combinations of others, so that a likelihood is unbounded.

    The error names all such columns at once: without them, a table is not refused for the same
    reason. With `max_parents`, only columns that depend on each other within a family are named;
    long chains of such dependences may need a second round.

    Parameters
    ----------
    message : str
    constant_columns : sequence of str or int
    collinear_columns : sequence of str or int

    Attributes
    ----------
    constant_columns : list of str or int
        The columns that do not vary, by the table's names, or numbers if it has none.
    collinear_columns : list of str or int
        Columns that depend linearly on others that are not listed. Of each relation one is listed.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import skbn
    >>> X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=["a", "b", "c"])
    >>> X = X.assign(twice=2 * X["a"], total=X["a"] + X["b"], site=1)
    >>> try:
    ...     skbn.GaussianBNLearner().fit(X)
    ... except skbn.exceptions.DegenerateColumnsError as error:
    ...     redundant = error
    >>> redundant.constant_columns, redundant.collinear_columns
    (['site'], ['twice', 'total'])
    >>> learner = skbn.GaussianBNLearner().fit(X.drop(columns=redundant.columns))
    """

    def __init__(
        self,
        message: str,
        constant_columns: Iterable[Hashable] = (),
        collinear_columns: Iterable[Hashable] = (),
    ) -> None:
        super().__init__(message)
        self.constant_columns = list(dict.fromkeys(constant_columns))
        self.collinear_columns = list(dict.fromkeys(collinear_columns))

    @property
    def columns(self) -> list[Hashable]:
        """All these columns: leave them out."""
        return list(dict.fromkeys(self.constant_columns + self.collinear_columns))

    def explained_as(self, message: str) -> DegenerateColumnsError:
        """Return an error about the same columns with another message."""
        return type(self)(message, self.constant_columns, self.collinear_columns)


class DataWarning(UserWarning):
    """The base class of warnings about a table that may not suit the model.

    The network is still the best one for the table. `GaussianBNLearner.fit` and
    `GaussianBNLearnerCV.fit` look at the rows, of a table with holes at what is observed, and at
    the network that they found, and warn at most once of each kind. There are no warnings without
    rows: with the scores of `LocalScoreTransformer.partial_fit`, and with `ParentSetScores`. The
    folds of a cross-validated learner are not checked either, and those of scikit-learn's searches
    warn once in each process, without naming columns.
    """


class DiscreteChildWarning(DataWarning):
    """A column of two to four different values has parents in the network.

    The noise of such a column cannot be Gaussian. Make the column exogenous, so that it can still
    be a parent, or leave it out. The message has the code that adds it to the learner's
    `exogenous`.
    """


class SkewedResidualsWarning(DataWarning):
    """The residuals of a column on its parents, or of one without parents, are strongly skewed.

    If the column itself is skewed, take its logarithm, or put a
    `sklearn.preprocessing.PowerTransformer` before the learner. If it is not, a parent's effect is
    probably not linear, or a few rows are outliers. `ResidualsDisplay` may show which; also plot
    the column's `GaussianBayesianNetwork.residuals` against each parent.
    """


class UncertainDirectionsWarning(DataWarning):
    """Most edges that `NonGaussianBNLearner` found score nearly as high the other way round.

    Their noise is close to Gaussian, or the rows are too few. Fit a `GaussianBNLearner`, whose
    equivalence class has the directions that need no assumption on the noise.
    """


class DummyEdgeWarning(DataWarning):
    """An edge joins two dummies of one category.

    Dummies are columns of two values; in each row at most one of them has its larger value. They
    exclude each other by their coding, and the edge says only that. Make them exogenous, so that
    they are parents only, or leave the category out.
    """


class MissingCodeWarning(DataWarning):
    """A repeated value stands far from all others of its column, as -999 for missing does.

    Values such as -9, 99, -999 and 0 may be nearer than others. The message has the column, the
    value, its number of rows, and how to make holes of it, for ``missing="em"``. Nothing is
    said of skewed residuals then: transforming the column would hide the code.
    """


class MissingValuesWarning(DataWarning):
    """Missing values leave little to learn from.

    Two columns are observed together in fewer rows than five for each column, or rows without any
    value were ignored. The message says which columns, and how many rows. Leave out columns with
    few values.
    """


class SampleWeightWarning(DataWarning):
    """The weights of rows are hardly counts, which is what they are taken for.

    A weight says how often its row counts. All estimators warn where weights sum to more than the
    rows and are not all whole numbers, or sum to more than ten times the rows. Survey weights and
    inverse-probability weights often do, and would make each edge look certain: scale them to sum
    to the number of rows, by ``sample_weight * len(X) / sample_weight.sum()``. If the weights are
    the counts of an aggregated table, ignore the warning.
    """


class MaxParentsWarning(UserWarning):
    """Many columns have as many parents as `max_parents` allows, and would gain from one more.

    `GaussianBNLearner.fit` and `GaussianBNLearnerCV.fit` warn if these are at least three columns,
    and at least a tenth of all, and one more parent for each would raise the score by 3 nats or
    more in all. The message has both numbers. Raise `max_parents`, or leave it at None: then there
    is no such warning. ``search="order"`` needs no limit. There is no warning after a fit to
    `ParentSetScores` either, which do not tell what a larger family would score.
    """


class RedundantColumnsWarning(DataWarning):
    """Columns are copies or sums of others up to rounding, or number the rows.

    Two columns are copies if they are correlated by more than 0.999, and not only by a common
    trend. A sum, such as percentages that add up to 99.9 to 100.1, leaves no more of a column than
    the rounding of all, by the smallest difference of two values of each column. Leave out the
    columns that the message names.
    """


class RepeatedRowsWarning(DataWarning):
    """Rows come several times, in a table or in the resamples of a bootstrap.

    Learners warn if each row of a table comes as often, or most rows come several times, as after a
    merge of tables. Resamples make edges of chance: `BootstrapBNLearner.fit` warns from 50 columns
    on, and if the networks of resamples have more than 1.5 times the edges of the network of all
    rows, and five more; not with fewer than four rows for each column. Half-samples, by
    ``replace=False, sample_fraction=0.5``, draw no row twice.
    """


class DependentRowsWarning(DataWarning):
    """Rows of one group, such as a person measured often, are alike: they are not independent.

    A search takes rows as independent, and `BootstrapBNLearner.fit` with `groups` confirms the
    edges of chance that it then finds. It warns if F tests find an intraclass correlation of the
    ranks of a column's residuals, as they do in one of a thousand tables of independent rows. The
    message has the ways out.
    """


class NumericTextWarning(DataWarning):
    """A column of text that is taken for a category holds whole numbers, and many different ones.

    They may be codes. If they are numbers, such as years or ages, the message says how to
    make numbers of them; a categorical dtype, or the parameter `nodes`, says that they are not.
    """


class NonstationaryWarning(DataWarning):
    """Columns of a time series look like random walks or trends.

    `lagged` warns if a column's own lag has a weight above 0.95 and a Dickey-Fuller test at the
    5 % level does not reject 1, in most series of 50 rows or more. Levels of such columns depend
    on each other by chance, and their edges may be false. Take differences or growth rates.
    """


class OrderPriorWarning(UserWarning):
    """`GaussianBNPosterior` took the order prior, since the uniform one would take too long.

    Set `structure_prior` to "order" if that is what you want.
    """


class PenaltyRangeWarning(UserWarning):
    """`GaussianBNLearnerCV` chose the smallest or the largest of its penalties.

    One beyond it may be better: the message has penalties to pass. There is no warning where all
    penalties are the same, or the chosen one is 0.
    """


class SamplingWarning(UserWarning):
    """`GaussianBNPosterior` sampled networks, since sums take too much memory, or too long.

    Set `method` to "sampling" if that is what you want. Its `score` also warns by this class if too
    few of the networks that it draws matter.
    """


class ApproximateEvidenceWarning(UserWarning):
    """The criterion only approximates the probability of the table, given a network.

    The posterior probabilities are exact sums of these approximations. With `BGe` they are exact.
    """
