"""The paper's algorithms for one triangular factor: a swap, and the sequences of swaps.

Alipourfard & Gao, "Solving all regression models for learning Gaussian networks using Givens
rotations", arXiv:1901.07643.
"""

from skbn._regressions.givens import givens_column_swap
from skbn._regressions.swaps import greedy_swaps, seed_path

__all__ = ["givens_column_swap", "greedy_swaps", "seed_path"]
