"""Learn a network for Benchpress, which runs this file with an object called `snakemake`."""

import sys
import time
from pathlib import Path

sys.path.append("workflow/scripts/utils")

import pandas as pd
from add_timeout import timeoutf

from skbn import GaussianBNLearner

wildcards, output = snakemake.wildcards, snakemake.output


def optional(name, kind):
    """Return a parameter, of which Benchpress writes None as a text."""
    return None if wildcards[name] == "None" else kind(wildcards[name])


def learn():
    """Write the adjacency matrix of the network, with parents in rows, and the seconds."""
    table = pd.read_csv(snakemake.input["data"])
    learner = GaussianBNLearner(
        wildcards["criterion"],
        penalty=float(wildcards["penalty"]),
        search=wildcards["search"],
        max_parents=optional("max_parents", int),
        time_limit=optional("time_limit", float),
        random_state=int(wildcards["seed"]),
        n_jobs=1,
    ).fit(table)
    seconds = time.perf_counter() - start
    matrix = pd.DataFrame(0, index=table.columns, columns=table.columns)
    for parent, child in learner.dag_.edges:
        matrix.loc[parent, child] = 1
    matrix.to_csv(output["adjmat"], index=False)
    Path(output["time"]).write_text(str(seconds), encoding="utf-8")
    Path(output["ntests"]).write_text("None", encoding="utf-8")  # a score asks for no tests


start = time.perf_counter()
timeout = optional("timeout", float)
if timeout is None:
    learn()
else:
    files = output["adjmat"], output["time"], output["ntests"]
    with timeoutf(max(1, round(timeout)), *files, start):
        learn()
