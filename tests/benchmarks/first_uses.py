"""Processor seconds of first uses, with nothing compiled, each in a process of its own.

Run ``python tests/benchmarks/first_uses.py``, or name some of the uses after it. Imports are
included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

BEGIN = """
import time, warnings
began = time.process_time()
warnings.simplefilter("ignore")
import numpy as np
from skbn import *
from skbn.datasets import make_gaussian_network
rng = np.random.default_rng(0)
X = np.asarray(make_gaussian_network(8, n_samples=300, random_state=0)[0])
holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
more = np.asarray(make_gaussian_network(12, n_samples=300, random_state=0)[0])
wide = np.asarray(make_gaussian_network(34, mean_degree=1, n_samples=300, random_state=0)[0])
"""
USES = {
    "fit": "GaussianBNLearner().fit(X)",
    "near_optimal": "GaussianBNLearner().fit(X).near_optimal(5)",
    "uniform": "GaussianBNPosterior().fit(X)",
    "order": "GaussianBNPosterior(structure_prior='order').fit(X)",
    "uniform_of_12": "GaussianBNPosterior().fit(more)",
    "order_of_12": "GaussianBNPosterior(structure_prior='order').fit(more)",
    "em": "GaussianBNLearner(missing='em').fit(holes)",
    "augment": "GaussianBNPosterior(missing='augment', random_state=0).fit(holes)",
    "search": "GaussianBNLearner('ebic', search='order', random_state=0).fit(wide)",
    "sampled": "GaussianBNPosterior(method='sampling', random_state=0, time_limit=3).fit(X)",
    "proof_max_parents": "GaussianBNLearner('ebic', max_parents=2).fit(wide)",
    "proof": "GaussianBNLearner('ebic', time_limit=100, random_state=0).fit(wide)",
    "everything": "from skbn.compile import *; compile_kernels(n_jobs=1)",
}


def main() -> None:
    for name in sys.argv[1:] or USES:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", f"{BEGIN}{USES[name]}\nprint(time.process_time() - began)"],
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
        print(f"{name:20} {float(done.stdout.split()[-1]):6.1f} s", flush=True)


if __name__ == "__main__":
    main()
