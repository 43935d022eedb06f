"""Finds the pictures of examples that pyplot knows nothing of: those of skbn's displays."""

from typing import Any

from sphinx_gallery.scrapers import figure_rst

__all__ = ["displays"]


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
