"""What parameters of other programs are called here."""

OURS = {
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
