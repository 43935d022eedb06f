"""Numbers, names and tables as people read them, in terminals and errors."""

import re
import sys
import warnings
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from itertools import islice
from reprlib import Repr
from typing import Any

import numpy as np

_MOST_DIGITS = 15  # longer counts are written as powers of ten: nobody reads them digit by digit
# Warnings point to the innermost line outside of these packages.
_NOT_USERS = ("skbn.", "sklearn.", "joblib.", "contextlib")
# Limits that keep an error message to a few lines.
_FEW = 5
_MOST_ITEMS = 20
_MOST_CHARACTERS = 100
_MOST_CHARACTERS_IN_ALL = 400


def readable_count(n: int) -> str:
    """Return a count with commas between thousands, or two digits of it if it is very large.

    >>> readable_count(53248), readable_count(2**100)
    ('53,248', '1.3e+30')
    """
    # Python refuses to write all digits of 2**m for large m.
    return f"{n:,}" if n < 10**_MOST_DIGITS else f"{Decimal(n):.1e}"


def readable_size(n_bytes: int, n_decimals: int = 1) -> str:
    """Return a number of bytes in a suitable unit, a power of 1000.

    >>> readable_size(64), readable_size(8 * 2**13), readable_size(8 * 2**30)
    ('64 B', '65.5 kB', '8.6 GB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} B"
    size = Decimal(n_bytes)
    for unit in ("kB", "MB", "GB", "TB", "PB", "EB"):
        size /= 1000
        if size < 1000 - Decimal(5).scaleb(-1 - n_decimals):
            return f"{size:.{n_decimals}f} {unit}"
    return f"{size:.{n_decimals}e} EB"


def bytes_of(size: str) -> int | None:
    """Return the number of bytes of a size with a unit; None if the text is no such size.

    Units of three letters are powers of 1024.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of("500 mb"), bytes_of("2 wells")
    (2000000000, 1610612736, 500000000, None)
    """
    parts = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b\s*", size, re.IGNORECASE)
    if parts is None or (parts[3] and not parts[2]):
        return None
    factor = 1024 if parts[3] else 1000
    return int(float(parts[1]) * factor ** " kmgt".index(parts[2].lower() or " "))


def readable_sizes(one: int, other: int) -> tuple[str, str]:
    """Return two numbers of bytes with enough decimals to tell them apart.

    >>> readable_sizes(2_100_000, 8_400_000), readable_sizes(2_113_536, 2_097_152)
    (('2.1 MB', '8.4 MB'), ('2.11 MB', '2.10 MB'))
    """
    for n_decimals in range(1, _MOST_DIGITS + 1):
        texts = readable_size(one, n_decimals), readable_size(other, n_decimals)
        if texts[0] != texts[1]:
            break
    return texts


def readable_name(name: Hashable) -> str:
    r"""Return a column's name, quoted if it has characters that would break a line.

    >>> readable_name("hue"), readable_name(3)
    ('hue', '3')
    >>> print(readable_name(chr(10).join(["a", "b"])))
    'a\nb'
    """
    text = str(name)
    return text if text.isprintable() else repr(text)


class _PlainRepr(Repr):
    """Values as one would type them, shortened if they are long."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = _MOST_ITEMS
        self.maxdict = _MOST_ITEMS
        self.maxstring = self.maxother = _MOST_CHARACTERS

    def repr1(self, x: Any, level: int) -> str:
        """Write numpy's numbers as Python's, and of tables and long arrays only the shape."""
        if isinstance(x, np.datetime64 | np.timedelta64):
            return str(x)
        if isinstance(x, np.longdouble):
            return repr(float(x))
        if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and not x.ndim):
            return super().repr1(x.item(), level)
        if isinstance(x, np.ndarray) and x.ndim == 1 and x.size <= _MOST_ITEMS:
            return super().repr1(x.tolist(), level)
        shape = getattr(x, "shape", None)
        if isinstance(shape, tuple) and len(shape) > 0:
            return f"{type(x).__name__} of shape {shape}"
        return super().repr1(x, level)

    def repr_instance(self, x: Any, level: int) -> str:
        """Write any other object on one line."""
        return " ".join(super().repr_instance(x, level).split())


_plain = _PlainRepr()


def readable_value(value: Any) -> str:
    """Return a value as errors show it: short, and with plain numbers.

    >>> print(readable_value(np.float64(0.0)), readable_value([("a", np.int64(3))]))
    0.0 [('a', 3)]
    >>> print(readable_value(np.zeros(2)), readable_value(np.zeros((2, 3))), sep=", ")
    [0.0, 0.0], ndarray of shape (2, 3)
    """
    return shortened(_plain.repr(value), _MOST_CHARACTERS_IN_ALL)


def must_be(name: str, expected: str, value: Any) -> str:
    """Return the message of a wrong value, or of a wrong type if it is one.

    >>> must_be("level", "between 0 and 1", 2), must_be("text", "a string", bytes)
    ('level must be between 0 and 1; got 2.', 'text must be a string; got bytes.')
    """
    got = value.__name__ if isinstance(value, type) else readable_value(value)
    return f"{name} must be {expected}; got {got}."


def internal_error(what: str) -> RuntimeError:
    """Return the error for a result that is wrong although the input was right.

    >>> raise internal_error("2 + 2 is 5")
    Traceback (most recent call last):
    RuntimeError: 2 + 2 is 5; this is a defect of the library or of the machine, please report it
    """
    return RuntimeError(
        f"{what}; this is a defect of the library or of the machine, please report it"
    )


def first_few(items: Iterable[Any]) -> str:
    """Return the first five items, and an ellipsis if there are more.

    >>> print(first_few(["hue", "ash"]), first_few(range(9)), sep="; ")
    'hue', 'ash'; 0, 1, 2, 3, 4, ...
    """
    shown = [repr(item) for item in islice(items, _FEW + 1)]
    return ", ".join(shown[:_FEW] + ["..."] * (len(shown) > _FEW))


def shortened(text: str, width: int) -> str:
    """Return a text on one line, cut if it is longer than `width`.

    >>> shortened("one  line", 9), shortened("one line", 7)
    ('one line', 'one ...')
    """
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3] + "..."


def text_table(rows: Sequence[Sequence[str]], alignments: str, header: Sequence[str]) -> str:
    """Return a table in text.

    >>> print(text_table([["a", "1"], ["bc", "10"]], "lr", ["name", "n"]))
    name   n
    a      1
    bc    10
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    justify = [str.ljust if alignment == "l" else str.rjust for alignment in alignments]
    texts = [
        "  ".join(
            place(cell, width) for place, cell, width in zip(justify, line, widths, strict=True)
        )
        for line in lines
    ]
    return "\n".join(text.rstrip() for text in texts)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, which called the library, perhaps through scikit-learn."""
    frame: Any = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_NOT_USERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
