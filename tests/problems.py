"""Problems and resources for tests that call the solver or the sums themselves."""

from skbn._core.resources import Progress, Resources
from skbn._solver.constraints import read_constraints
from skbn._solver.solve import problem_of

PLENTY = 1 << 34


def resources(available=1 << 30, allowed=None, *, listeners=(), **options):
    return Resources(available, allowed, progress=Progress(listeners=listeners), **options)


def problem(scores, **knowledge):
    """The problem of some scores, by default with any number of parents that these have."""
    most = getattr(scores, "max_parents", None)
    most = len(scores.columns) - 1 if most is None else most
    return problem_of(
        scores, read_constraints(scores.columns, **{"max_parents": most, **knowledge})
    )
