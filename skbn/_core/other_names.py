"""What parameters of other programs are called here: `answers_other_names`."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

_NAMES = {
    "required_edges": "whitelist include_graph fixedEdges",
    "forbidden_edges": "blacklist super_graph fixedGaps",
    "max_parents": "maxp maxP maxDegree max_indegree max_degree palim",
    "criterion": "score scoring_method score_func score_type",
    "penalty": "lambda_value lam penalty_discount",
    "tiers": "temporal_order background_knowledge knowledge",
    "n_resamples": "R n_boot n_bootstraps",
    "n_jobs": "n_threads num_threads cluster",
    "random_state": "seed",
    "search": "algorithm",
}
_OURS = {theirs: ours for ours, names in _NAMES.items() for theirs in names.split()}


def answers_other_names(cls: Class) -> Class:
    """Decorate an estimator, so that errors about a parameter of another program name ours."""
    for name in ("__init__", "set_params"):
        setattr(cls, name, _answering(getattr(cls, name)))
    return cls


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def answering(self: Any, *args: Any, **given: Any) -> Any:
        try:
            return method(self, *args, **given)
        except (TypeError, ValueError) as error:
            known = self._get_param_names()
            for theirs in given:
                if theirs not in known and _OURS.get(theirs) in known:
                    raise type(error)(
                        f"{type(self).__name__} has no parameter {theirs!r}. It is called "
                        f"{_OURS[theirs]!r} here; its docstring says what it takes."
                    ) from None
            raise

    return answering
