"""Tables for a paper or a page: LaTeX and Markdown."""

from typing import Any

from skbn._core.arrays import as_integer
from skbn._core.columns import is_missing

_OTHERS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | _OTHERS)


def to_markdown(table: Any, *, digits: int = 3) -> str:
    """Return a table in Markdown.

    Parameters
    ----------
    table : data frame, dict of columns, or object with `to_frame`
        Such as `network.to_frame()`, or the network itself. Row labels that are not numbers from 0
        on come first.
    digits : int, default=3
        Significant digits of numbers.

    Returns
    -------
    text : str
        Missing values are empty.

    Raises
    ------
    TypeError, ValueError
        If it is no table; if `digits` is not a positive integer.

    Examples
    --------
    >>> import skbn.io
    >>> print(skbn.io.to_markdown({"edge": ["a -> b"], "weight": [0.12345]}))
    | edge | weight |
    | --- | --- |
    | a -> b | 0.123 |
    """
    names, *rows = [[each.replace("|", r"\|") for each in row] for row in _texts(table, digits)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows))


def to_latex(table: Any, *, digits: int = 3) -> str:
    r"""Return a table as a LaTeX `tabular`, which needs no package.

    Parameters
    ----------
    table, digits : as for `to_markdown`

    Returns
    -------
    text : str
        Missing values are empty, and signs that LaTeX reserves are escaped.

    Raises
    ------
    TypeError, ValueError
        As `to_markdown`.

    Examples
    --------
    >>> import skbn.io
    >>> print(skbn.io.to_latex({"child": ["a_b"], "weight": [0.12345]}))
    \begin{tabular}{ll}
    \hline
    child & weight \\
    \hline
    a\_b & 0.123 \\
    \hline
    \end{tabular}
    """
    rows = [" & ".join(each.translate(_LATEX) for each in row) for row in _texts(table, digits)]
    head, *lines = [rf"{row} \\" for row in rows]
    begin = rf"\begin{{tabular}}{{{'l' * (1 + rows[0].count(' & '))}}}"
    return "\n".join([begin, r"\hline", head, r"\hline", *lines, r"\hline", r"\end{tabular}"])


def _texts(table: Any, digits: int) -> list[list[str]]:
    """Return the columns' names, and the texts of each row."""
    digits = as_integer(digits, "digits", least=1)
    if hasattr(table, "to_frame") and not hasattr(table, "columns"):
        table = table.to_frame()
    if hasattr(table, "reset_index") and [*table.index] != [*range(len(table))]:
        table = table.reset_index()
    if not (hasattr(table, "columns") or isinstance(table, dict)):
        raise TypeError(
            f"table must be a data frame or have to_frame; got {type(table).__name__}. Pass what "
            "to_frame of a network, a bootstrap or an effect returns."
        )
    names = [*getattr(table, "columns", table)]
    columns = [[str(name), *(_text(each, digits) for each in table[name])] for name in names]
    return [*map(list, zip(*columns, strict=True))]


def _text(value: Any, digits: int) -> str:
    if isinstance(value, list | tuple):
        return " -> ".join(map(str, value))
    text = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return "" if is_missing(value) else text
