"""What the exact search takes beyond one machine's memory, by the arithmetic of its own plans.

    python tests/benchmarks/plans.py --measured 30 24e9 201.8

Nothing is searched. Memory and space are those that the plans state. A plan also states how much
work it is, from which seconds follow by the rate of one measured search: `--measured` has its
number of columns, the bytes of memory that it was allowed, and the seconds that it took. The
seconds are for the processor and the number of threads of that search. They count the folder's disk
as the plan does, and no traffic between workers.
"""

import argparse
import math
import sys
from types import SimpleNamespace
from unittest.mock import patch

from skbn._core.text import readable_size
from skbn._exact.plan import TooLargeError, plan_on_workers, plan_search
from skbn._regressions.log_determinants import log_determinants_work

COLUMNS = range(26, 37)
MEMORY = (16e9, 32e9, 64e9)  # of one machine
N_WORKERS, MEMORY_OF_WORKER = (4, 16, 64), 32e9
FOLDER = {"scratch": "folder"}


def least(m, **ways):
    """Return the fewest bytes of memory with which there is a plan."""
    try:
        planned(m, 0, **ways)
    except TooLargeError as error:
        return error.needed
    raise AssertionError("a plan that needs no memory")


def planned(m, n_bytes, n_workers=0, **ways):
    """Return the plan for one machine, or for a cluster with room for the walk back here."""
    if n_workers:
        return plan_on_workers(m, 0, n_workers, n_bytes, "", sys.maxsize)
    return plan_search(m, n_bytes, **ways)


def work(plan):
    of_walk = log_determinants_work(plan.n_columns) if plan.n_varying is None else 0
    return of_walk + (plan.work_of_workers if plan.n_workers else plan.work)


def described(m, n_bytes, rate, **ways):
    """Return in words how long the plan takes that `fit` would choose, and where it is."""
    try:
        plan = planned(m, int(n_bytes), **ways)
    except TooLargeError:
        return "-"
    where = " in memory" if plan.n_varying is None else " in windows"
    if plan.n_workers:
        where = ""
    elif plan.scratch:
        where = " with the folder"
    return readable_time(work(plan) / rate) + where


def readable_time(seconds):
    for unit, size in [("s", 1), ("min", 60)]:
        if seconds < 100 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds / 3600:.2g}'):g} h"


def print_table(head, rows):
    print(f"| {' | '.join(head)} |")
    print(f"| {' | '.join(['---:'] * len(head))} |")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    print()


def memory_table():
    head = ["columns", "all in memory", "windows", "windows and a folder", "space of the folder"]
    rows = []
    for m in COLUMNS:
        of_one = [least(m, in_memory=True), least(m), least(m, **FOLDER), 8 << m]
        of_worker = [least(m, n_workers=n) for n in N_WORKERS]
        rows.append([m, *map(readable_size, of_one + of_worker)])
    print_table(head + [f"each of {n} workers" for n in N_WORKERS], rows)


def time_table(rate):
    of_worker = f"workers of {MEMORY_OF_WORKER / 1e9:g} GB"
    head = ["columns", *(f"{n / 1e9:g} GB" for n in MEMORY)]
    rows = []
    for m in COLUMNS:
        of_one = [described(m, n, rate, **FOLDER) for n in MEMORY]
        of_many = [described(m, MEMORY_OF_WORKER, rate, n_workers=n) for n in N_WORKERS]
        rows.append([m, *of_one, *of_many])
    print_table(head + [f"{n} {of_worker}" for n in N_WORKERS], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--measured", nargs=3, type=float, metavar=("COLUMNS", "BYTES", "SECONDS"), required=True
    )
    m, n_bytes, seconds = parser.parse_args().measured
    rate = work(plan_search(int(m), int(n_bytes))) / seconds
    print(f"{rate:.3g} units of work a second\n")
    # The folder has any space, so that the tables are the same on every machine.
    with patch("shutil.disk_usage", lambda folder: SimpleNamespace(free=math.inf)):
        memory_table()
        time_table(rate)


if __name__ == "__main__":
    main()
