"""Error for violated invariants: a defect of the library or of the machine."""

__all__ = ["defect"]


def defect(what: str) -> RuntimeError:
    """Return the error that says so.

    Examples
    --------
    >>> raise defect("2 + 2 is 5")
    Traceback (most recent call last):
    RuntimeError: 2 + 2 is 5; this is a defect of the library or of the machine, please report it
    """
    return RuntimeError(
        f"{what}; this is a defect of the library or of the machine, please report it"
    )
