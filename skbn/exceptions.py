"""Warnings about what a fit found in the data, one class for each kind.

Python's filters switch off a single kind by its class, or all of them by `DataWarning`:

>>> import warnings
>>> import skbn
>>> warnings.filterwarnings("ignore", category=skbn.exceptions.DiscreteChildWarning)
"""

from __future__ import annotations

__all__ = ["DataWarning", "DiscreteChildWarning", "DummyEdgeWarning", "SkewedResidualsWarning"]


class DataWarning(UserWarning):
    """The base class of warnings about a table that may not suit the model.

    The network is the best one for the table all the same. `GaussianBNLearner.fit` and
    `GaussianBNLearnerCV.fit` look at the rows and at the network that they found, and warn at
    most once of each kind. There are no warnings where the rows were not kept: after
    `partial_fit`, with `ParentSetScores`, and in the folds of a cross-validated learner.

    Examples
    --------
    >>> import warnings
    >>> import skbn
    >>> warnings.filterwarnings("ignore", category=skbn.exceptions.DataWarning)
    """


class DiscreteChildWarning(DataWarning):
    """A column of two to four different values has parents in the network.

    Its noise cannot be Gaussian. The remedy is to forbid all edges into it, which keeps it as a
    possible parent, or to leave it out. The message has the code that adds these edges to those
    that are forbidden already.

    Examples
    --------
    >>> import warnings
    >>> import skbn
    >>> warnings.filterwarnings("ignore", category=skbn.exceptions.DiscreteChildWarning)
    """


class SkewedResidualsWarning(DataWarning):
    """The residuals of a column on its parents are strongly skewed.

    The residuals of a column without parents are its differences from the mean. If the column
    itself is skewed, the remedy is to take its logarithm, or a
    `sklearn.preprocessing.PowerTransformer` before the learner. If it is not, a parent's effect is
    probably not linear, or a few rows are outliers. `ResidualsDisplay` may show which; plot what
    `GaussianBayesianNetwork.residuals` returns for the column against each parent as well.

    Examples
    --------
    >>> import warnings
    >>> import skbn
    >>> warnings.filterwarnings("ignore", category=skbn.exceptions.SkewedResidualsWarning)
    """


class DummyEdgeWarning(DataWarning):
    """An edge joins two dummies of one category.

    Dummies are columns of two values, of which at most one has its larger value in any row. They
    exclude each other by their coding, and the edge says nothing else. The remedy is to forbid
    all edges into them, so that they are parents only, or to leave the category out.

    Examples
    --------
    >>> import warnings
    >>> import skbn
    >>> warnings.filterwarnings("ignore", category=skbn.exceptions.DummyEdgeWarning)
    """
