"""Compile all kernels ahead of the first fit: ``python -m skbn.compile``."""

import os
import time
import warnings
from importlib import import_module

from joblib import Parallel, delayed

from skbn._core import compile as _compile
from skbn._core.resources import duration, say

__all__ = ["compile_kernels"]

# Those that take longest come first, so that all processes end at about the same time.
_MODULES = (
    "skbn._branch_and_cut.separation_kernels",
    "skbn._branch_and_cut.descent_kernels",
    "skbn._branch_and_cut.pricing_kernels",
    "skbn._branch_and_cut.near_kernels",
    "skbn._orders.growth_kernels",
    "skbn._orders.walk_kernels",
    "skbn._orders.refit_kernels",
    "skbn._orders.placement_kernels",
    "skbn._orders.search_kernels",
    "skbn._displays.layout.order_kernels",
    "skbn._chains.move_kernels",
    "skbn._chains.block_kernels",
    "skbn._posterior.order_sums",
    "skbn._posterior.family_weights",
    "skbn._posterior.sampling_kernels",
    "skbn._posterior.network_sum_kernels",
    "skbn._posterior.listed_weights",
    "skbn._exact.fill_kernels",
    "skbn._exact.dense_families",
    "skbn._regressions.log_determinants",
    "skbn._branch_and_cut.cut_kernels",
    "skbn._branch_and_cut.checker_kernels",
    "skbn._core.subsets",
    "skbn._scores.families",
    "skbn._orders.regression_kernels",
    "skbn._orders.insertion_kernels",
    "skbn._orders.list_kernels",
    "skbn._exact.sink_kernels",
    "skbn._missing.em_kernels",
    "skbn._non_gaussian.walk_kernels",
    "skbn._regressions.small_walk",
    "skbn._posterior.effect_kernels",
    "skbn._chains.candidate_kernels",
    "skbn._chains.family_kernels",
    "skbn._regressions.givens",
    "skbn._scores.target_kernels",
)


def compile_kernels(n_jobs: int | None = -1) -> None:
    """Compile all kernels of the library and cache them on disk, for every later process.

    Otherwise each is compiled when it is first needed, which takes some seconds for a first fit and
    up to half a minute for a first order search, posterior or proof. The command ``python -m
    skbn.compile`` calls this function; run it in the recipe of a container image.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        How many processes compile, by joblib's rules; -1 stands for all cores.

    Raises
    ------
    RuntimeError
        If numba finds no folder that it can write the compiled kernels to.

    Examples
    --------
    >>> from skbn.compile import compile_kernels
    >>> compile_kernels()  # doctest: +SKIP
    """
    with warnings.catch_warnings():
        # joblib replaces a process that has grown by 300 MB, as numba's do.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        Parallel(n_jobs=n_jobs)(delayed(_compile_module)(module) for module in _MODULES)


def _compile_module(module: str) -> None:
    import_module(module)
    kernels = _compile.kernels_of(module)
    _compile.compile_kernels(kernels, silently=True)
    if not all(each.stats.cache_path for each in kernels):
        raise RuntimeError(
            "There is no folder that numba can write compiled kernels to. Set the environment "
            "variable NUMBA_CACHE_DIR to one, here and wherever skbn is used."
        )


if __name__ == "__main__":
    start = time.perf_counter()
    say(f"Compiling all kernels of skbn, in up to {os.cpu_count()} processes")
    compile_kernels()
    say(f"All are compiled, after {duration(time.perf_counter() - start)}")
