"""What parameters of other programs are called here: `answers_other_names`."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

_OURS = {
    **dict.fromkeys(("whitelist", "include_graph", "fixedEdges"), "required_edges"),
    **dict.fromkeys(("blacklist", "super_graph", "fixedGaps"), "forbidden_edges"),
    **dict.fromkeys(("maxp", "maxP", "maxDegree", "max_indegree", "palim"), "max_parents"),
    **dict.fromkeys(("score", "scoring_method", "score_func", "score_type"), "criterion"),
    **dict.fromkeys(("lambda_value", "lam", "penalty_discount"), "penalty"),
    **dict.fromkeys(("temporal_order", "background_knowledge"), "tiers"),
    **dict.fromkeys(("R", "n_boot", "n_bootstraps"), "n_resamples"),
    "seed": "random_state",
    "n_threads": "n_jobs",
    "algorithm": "search",
}


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
