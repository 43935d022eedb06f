"""The gallery of examples: their order, and pictures that pyplot knows nothing of."""

from typing import Any

from sphinx_gallery.scrapers import figure_rst

__all__ = ["displays", "reading_order"]

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


def displays(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of the displays that a block of an example has made.

    Parameters
    ----------
    block : tuple
        The block, which is not looked at.
    block_vars : dict
        Of it, `example_globals` are the example's variables and `image_path_iterator` the
        names of the files to write.
    gallery_conf : dict
        The gallery's configuration.

    Returns
    -------
    rst : str
        Which shows the pictures.
    """
    paths = []
    for value in [*block_vars["example_globals"].values()]:
        figure = getattr(value, "figure_", None)
        if figure is None or figure.canvas.manager is not None or hasattr(figure, "_in_gallery"):
            continue  # no display, or pyplot's, which has a scraper, or of an earlier block
        figure._in_gallery = True
        paths.append(next(block_vars["image_path_iterator"]))
        figure.savefig(paths[-1], dpi=120)
    return figure_rst(paths, gallery_conf["src_dir"])
