"""show_versions: the facts about a machine and its software that a bug report needs."""

import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import psutil
import scipy.linalg  # noqa: F401 - loads the BLAS, which threadpool_info lists
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import threadpool_info

from skbn._core.resources import available_memory, count_threads
from skbn._core.text import readable_size

# What users install, and llvmlite, numba's compiler.
_DEPENDENCIES = [
    "numpy",
    "scipy",
    "scikit-learn",
    "networkx",
    "joblib",
    "lazy-loader",
    "numba",
    "llvmlite",
    "psutil",
    "threadpoolctl",
    "matplotlib",
    "pandas",
    "statsmodels",
]


def show_versions() -> None:
    """Print the versions of Python and the dependencies, the processor, memory and threads.

    Add the output to a bug report. A dependency that is not installed is shown as None.

    See Also
    --------
    sklearn.show_versions : The same for scikit-learn.

    Examples
    --------
    >>> from skbn import show_versions
    >>> show_versions()  # doctest: +SKIP
    """
    cores, memory = psutil.cpu_count(logical=False), psutil.virtual_memory().total
    _show(
        "System",
        {
            "python": " ".join(sys.version.split()),
            "executable": sys.executable,
            "machine": platform.platform(),
            "processor": f"{platform.machine()}, {get_host_cpu_name()}",
            "cores": f"{cores}, with {psutil.cpu_count()} threads",
            "memory": f"{readable_size(memory)}, of which {readable_size(available_memory())} free",
            "n_jobs": f"None is {count_threads(None)}, -1 is {count_threads(-1)}",
        },
    )
    versions: dict[str, str | None] = dict.fromkeys(["skbn", *_DEPENDENCIES])
    for name in versions:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    _show("Python dependencies", versions)
    for library in threadpool_info():
        name = library.pop("user_api")
        _show(f"Threads of {name}", {key: str(value) for key, value in library.items()})


def _show(title: str, facts: Mapping[str, str | None]) -> None:
    width = max(map(len, facts))
    lines = [f"{name:>{width}}: {fact}" for name, fact in facts.items()]
    print(f"\n{title}:", *lines, sep="\n")
