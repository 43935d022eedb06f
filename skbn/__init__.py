"""The provably best Gaussian Bayesian network of a table of data."""

from skbn._display import NetworkDisplay
from skbn._learner import GaussianBNLearner
from skbn._local_scores import LocalScores
from skbn._regressions._givens import givens_column_swap
from skbn._regressions._swaps import greedy_swaps, seed_path
from skbn._transformer import LocalScoreTransformer

__all__ = [
    "GaussianBNLearner",
    "LocalScoreTransformer",
    "LocalScores",
    "NetworkDisplay",
    "givens_column_swap",
    "greedy_swaps",
    "seed_path",
]
__version__ = "0.1.0.dev0"
