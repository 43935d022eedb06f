"""How the gallery runs the examples, and in which order it shows them."""

import builtins
from typing import Any

__all__ = ["provide_file", "reading_order"]

ORDER = (
    "wine",
    "breast_cancer",
    "expert_knowledge",
    "penalty",
    "scores",
    "intervention",
    "greedy",
    "all_regressions",
)


def reading_order(file_name: str) -> tuple[int, str]:
    """Return the place of an example: from a first look to the paper, then new ones.

    Parameters
    ----------
    file_name : str

    Returns
    -------
    key : tuple
    """
    name = file_name.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name


def provide_file(gallery_conf: dict[str, Any], file_name: str) -> None:
    """Let an example read data from beside itself, by ``__file__``, as a script can.

    Parameters
    ----------
    gallery_conf : dict
        Not looked at.
    file_name : str
        Of the example that comes next.
    """
    builtins.__file__ = file_name
