"""How heavy the library is: the files that a plain fit passes, and the lines of code.

The limits are what there is. Lower them with what gets lighter; raise one only with a reason.
"""

import io
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

import skbn

LIBRARY = Path(skbn.__file__).parent
TESTS = Path(__file__).parents[2] / "tests"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
NO_CODE.add(tokenize.ENDMARKER)


def code_lines(path):
    """Count the lines of a file without blanks, comments and docstrings."""
    code, statement = set(), []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type not in NO_CODE:
            statement.append(token)
        elif token.type == tokenize.NEWLINE:
            if [each.type for each in statement] != [tokenize.STRING]:  # not a docstring
                for each in statement:
                    code.update(range(each.start[0], each.end[0] + 1))
            statement = []
    return len(code)


def route(estimator, X):
    """Return the library's files that a fit passes, and how often it goes to another subpackage."""
    files, crossings = set(), 0

    def caller(frame):
        while frame is not None and not is_own(frame):
            frame = frame.f_back
        return frame

    def is_own(frame):
        return Path(frame.f_code.co_filename).is_relative_to(LIBRARY)

    def room(frame):
        return Path(frame.f_code.co_filename).relative_to(LIBRARY).parts[0]

    def profile(frame, event, arg):
        nonlocal crossings
        if event == "call" and is_own(frame):
            files.add(frame.f_code.co_filename)
            back = caller(frame.f_back)
            crossings += back is not None and room(back) != room(frame)

    estimator.fit(X)  # imports and compilation
    sys.setprofile(profile)
    try:
        estimator.fit(X)
    finally:
        sys.setprofile(None)
    return len(files), crossings


@pytest.mark.parametrize(
    ("estimator", "n_files", "n_crossings"),
    [(skbn.GaussianBNLearner(), 32, 190), (skbn.GaussianBNPosterior(), 37, 164)],
)
def test_a_fit_of_eight_columns(estimator, n_files, n_crossings):
    files, crossings = route(estimator, np.random.default_rng(0).normal(size=(100, 8)))
    assert files <= n_files
    assert crossings <= n_crossings


def test_lines_of_code():
    assert sum(code_lines(path) for path in LIBRARY.rglob("*.py")) <= 38_849
    tests = [path for path in TESTS.rglob("*.py") if "benchmarks" not in path.parts]
    assert sum(map(code_lines, tests)) <= 29_551
