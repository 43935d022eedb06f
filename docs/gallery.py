"""The order of the examples in their gallery."""

__all__ = ["reading_order"]

ORDER = (
    "wine",
    "breast_cancer",
    "many_columns",
    "categories",
    "expert_knowledge",
    "penalty",
    "scores",
    "how_sure",
    "missing_values",
    "sensors",
    "intervention",
    "experiment",
    "environments",
    "centres",
    "non_gaussian",
    "macro_series",
    "greedy",
    "all_regressions",
)


def reading_order(file_name: str) -> tuple[int, str]:
    """Return the sort key of an example; examples that `ORDER` does not name come last.

    Parameters
    ----------
    file_name : str

    Returns
    -------
    key : tuple
    """
    name = file_name.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name
