"""The provably best Gaussian Bayesian network of a table of data."""

from lazy_loader import attach_stub

# The public names stand in __init__.pyi: scikit-learn and numba, which take more than a second to
# import, are loaded when a name is first used.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

__version__ = "0.1.0"
