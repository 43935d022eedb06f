"""Print held-out scores over penalties, and time GaussianBNLearnerCV and a plain grid search.

    python tests/benchmarks/choose_penalty.py [repetitions] [columns]

The tables are wine (13 columns) and the first 20 columns, or fewer, of the breast-cancer data, with
5 shuffled folds. The two estimators are fitted in turn in this process, with one job each and
then with two, after a first fit of each that is not counted. A grid search with two jobs uses
two processes, which have been started before its time is taken.
"""

import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import GridSearchCV, KFold

from skbn import GaussianBNLearner, GaussianBNLearnerCV

PENALTIES = np.array([0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16])
FOLDS = KFold(5, shuffle=True, random_state=0)
TABLES = {
    "wine": load_wine(as_frame=True).data,
    "breast cancer": load_breast_cancer(as_frame=True).data.iloc[:, :20],
}


def cross_validated(table, n_jobs):
    return GaussianBNLearnerCV(PENALTIES, cv=FOLDS, n_jobs=n_jobs).fit(table)


def searched(table, n_jobs):
    grid = {"penalty": PENALTIES}
    return GridSearchCV(GaussianBNLearner(), grid, cv=FOLDS, n_jobs=n_jobs).fit(table)


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main(repetitions=5, most_columns=20):
    for name, whole in TABLES.items():
        table = whole.iloc[:, :most_columns]
        learner, search = cross_validated(table, 1), searched(table, 1)
        results = learner.cv_results_
        print(f"{name}, {table.shape[0]} rows, {table.shape[1]} columns")
        print("  penalty  held-out score  standard error  edges")
        for row in zip(
            PENALTIES,
            results["mean_test_score"],
            results["se_test_score"],
            results["mean_n_edges"],
            strict=True,
        ):
            print("  {:7g}  {:14.4f}  {:14.4f}  {:5.1f}".format(*row))
        near = GaussianBNLearnerCV(PENALTIES, cv=FOLDS, rule="one-standard-error").fit(table)
        same = np.array_equal(results["mean_test_score"], search.cv_results_["mean_test_score"])
        print(
            f"  chosen: {learner.penalty_:g}, by one standard error {near.penalty_:g}, by "
            f"GridSearchCV {search.best_params_['penalty']:g}; all scores the same bits: {same}"
        )
        for n_jobs in (1, 2):
            searched(table, n_jobs)  # so that its processes have compiled or loaded the kernels
            times = np.array(
                [
                    (seconds(cross_validated, table, n_jobs), seconds(searched, table, n_jobs))
                    for _ in range(repetitions)
                ]
            )
            ratio = np.median(times[:, 0] / times[:, 1])
            print(
                f"  n_jobs={n_jobs}: GaussianBNLearnerCV {np.median(times[:, 0]):.2f} s, "
                f"GridSearchCV {np.median(times[:, 1]):.2f} s, median ratio {ratio:.2f}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
