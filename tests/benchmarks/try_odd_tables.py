"""Fit odd tables for a while, and count the outcomes.

Run ``python tests/benchmarks/try_odd_tables.py --seconds 3600``. It stops at the first table that
ends in neither a network nor a documented error, and prints this table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from hypothesis import HealthCheck, given, seed, settings
from odd_tables import OPTIONS, odd_tables, outcome

_A_BATCH = 1000


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    end, batch = time.monotonic() + arguments.seconds, 0
    while time.monotonic() < end:

        @seed(batch)
        @settings(
            max_examples=_A_BATCH,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(odd_tables(), OPTIONS)
        def fit(table, options):
            counts[outcome(table, options)] += 1

        fit()
        batch += 1
    print(f"{counts.total()} tables:", ", ".join(f"{k} {n}" for k, n in counts.most_common()))


if __name__ == "__main__":
    main()
