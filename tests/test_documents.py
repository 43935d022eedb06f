"""The Python blocks of the README and of the pages, run in turn as a reader would."""

import copy
import doctest
import math
import re
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from textwrap import dedent

import networkx
import numpy as np
import pytest
from agreement import raises, warned_by
from sklearn.datasets import load_breast_cancer

import skbn
from skbn import GaussianBayesianNetwork, LocalScoreTransformer
from skbn.datasets import make_gaussian_network

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


# A Python block and what it prints, if a block of text follows; or one that also draws its
# picture, after its options.
BLOCK = re.compile(
    r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?"
    r"|^```\{eval-rst\}\n\.\. plot::\n(?:   :[^\n]*\n)+\n(.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def blocks_of(path):
    """Return the pairs of a block and what it prints, or "" where the page does not say."""
    found = BLOCK.findall(path.read_text(encoding="utf-8"))
    return [(plain or dedent(drawn), printed) for plain, printed, drawn in found]


def run_blocks(path):
    """Run all blocks of a page in one namespace, and return it."""
    names = {}
    for block, printed in blocks_of(path):
        if block.startswith(">>>"):
            run_doctest(block, names, path)
            continue
        with redirect_stdout(StringIO()) as output:
            exec(block, names)
        if printed:
            assert output.getvalue() == printed
    return names


def run_doctest(block, names, path):
    test = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0)
    failures = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags).run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "".join(failures)


def pages():
    """The pages that have blocks to run, as paths under docs without their suffix."""
    written = [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")]  # test_theory has its own
    return sorted(
        path.relative_to(DOCS).with_suffix("").as_posix() for path in written if blocks_of(path)
    )


def test_readme():
    names = run_blocks(ROOT / "README.md")
    learner = names["learner"]
    assert learner.network_score_ == pytest.approx(-3490.95528398)
    weight = learner.dag_.edges["alcohol", "color_intensity"]["weight"]
    assert weight == pytest.approx(1.51222974)
    edge = names["posterior"].predict().edges["flavanoids", "hue"]
    assert edge["probability"] == pytest.approx(0.684, abs=5e-4)


def check_scores(names):
    assert Path("wine.jkl").exists()
    assert names["in_their_units"].dag_.number_of_edges() == 32
    assert names["alike"].dag_.number_of_edges() == 18
    assert [t.difference for t in names["scores"].top_parents("proline", 2)] != [0, 0]


def check_constraints(names):
    assert names["scores"].n_families == 1027


def check_scikit_learn(names):
    assert list(names["numbered"].predict(names["wine"])) == list(range(13))
    assert (names["best"].penalty_, names["sparse"].penalty_) == (2.0, 8.0)
    assert names["learner"].n_features_in_ == 13
    whole = names["GaussianBNLearner"]("aic").fit(names["wine"])
    assert names["learner"].network_score_ == pytest.approx(whole.network_score_)


def check_networks(names):
    assert not names["theirs"].compare(names["network"]).is_equivalent
    # as the page says of the picture's edges
    undirected = {frozenset(e[:2]) for e in names["cpdag"].edges(data="undirected") if e[2]}
    others = ("proline", "color_intensity")
    assert undirected == {frozenset(["alcohol", other]) for other in others}


def check_quick_start(names):
    assert names["learner"].network_score_ == pytest.approx(-3490.95528398)
    assert names["ordered"].network_score_ < names["learner"].network_score_
    assert Path("network.png").exists()


def check_missing(names):
    assert names["pipeline"][-1].dag_.number_of_nodes() == 13


def check_limits(names):
    page = (DOCS / "guide" / "limits.md").read_text(encoding="utf-8")
    quote = r"^> ((?:Columns (?!have a value).*|Edges join .*)[^.\n])\.?$"
    quoted = re.findall(quote, page, re.MULTILINE)
    for table, message in zip(["diabetes", "cells", "table"], quoted, strict=True):
        caught = warned_by(names["GaussianBNLearner"]().fit, names[table])
        assert any(message in str(each.message) for each in caught)


def check_pictures(names):
    assert names["display"].missing
    assert len(names["learner"].plot().figure_.axes) == 1
    assert "flowchart" in skbn.io.to_mermaid(names["network"])


def check_how_sure(names):
    edges, posterior = names["edges"], names["posterior"]
    assert edges.loc["proline", "alcohol"] == pytest.approx(0.91, abs=0.005)
    assert edges.loc["alcohol", "proline"] == pytest.approx(0.09, abs=0.005)
    colour = edges.loc["hue", "color_intensity"], edges.loc["color_intensity", "hue"]
    assert (colour[0], sum(colour)) == pytest.approx((0.75, 1.0), abs=0.005)
    by_samples = posterior.effect("flavanoids", "hue", random_state=0)
    assert by_samples.mean == pytest.approx(0.366, abs=0.0005)
    best = names["networks"][0]
    assert posterior.log_probability(best) == pytest.approx(math.log(3.3e-6), abs=0.01)
    order = names["GaussianBNPosterior"](structure_prior="order").fit(names["wine"])
    by_order = order.edge_probabilities_
    i, j = divmod(abs(by_order - edges.to_numpy()).argmax(), len(edges))
    assert (edges.index[i], edges.index[j]) == ("proline", "magnesium")
    assert (edges.iloc[i, j], by_order[i, j]) == pytest.approx((0.70, 0.83), abs=0.005)
    smaller = names["GaussianBNPosterior"](skbn.BGe(alpha_w=30)).fit(names["wine"])
    assert smaller.edge_probabilities_.sum() == pytest.approx(43, abs=0.5)
    with pytest.warns(skbn.exceptions.ApproximateEvidenceWarning):
        by_bic = skbn.GaussianBNPosterior("bic").fit(names["wine"]).edge_probabilities_
    assert abs(by_bic - posterior.edge_probabilities_).max() == pytest.approx(0.22, abs=0.005)


def check_past_thirty(names):
    learner = names["learner"]
    assert not learner.is_optimal_
    assert learner.optimality_gap_ == math.inf
    proven, from_file = names["proven"], names["from_file"]
    assert from_file.is_optimal_
    assert proven.n_nodes_ >= 1
    assert proven.network_score_ <= proven.score_bound_ <= proven.network_score_ + 1e-6
    assert from_file.network_score_ == pytest.approx(proven.network_score_, abs=1e-5)
    sparse = names["sparse"].dag
    assert sparse.number_of_edges() == 41  # and the table of what the search found of it
    pairs, true = ({frozenset(e) for e in dag.edges} for dag in (names["of_few"].dag_, sparse))
    assert (len(pairs), len(pairs & true)) == (34, 29)


def check_larger(names):
    score = names["in_memory"].network_score_
    assert [names[way].network_score_ for way in ("with_folder", "on_cluster")] == [score, score]
    assert not list(Path("scratch").iterdir())
    whole = names["GaussianBNLearner"]("aic").fit(names["wine"])
    assert names["learner"].network_score_ == pytest.approx(whole.network_score_)


CHECKS = {
    "guide/scores": check_scores,
    "guide/constraints": check_constraints,
    "guide/scikit-learn": check_scikit_learn,
    "guide/networks": check_networks,
    "guide/quick-start": check_quick_start,
    "guide/missing": check_missing,
    "guide/limits": check_limits,
    "guide/how-sure": check_how_sure,
    "guide/pictures": check_pictures,
    "guide/past-thirty": check_past_thirty,
    "guide/larger-than-this-machine": check_larger,
}


SLOW = ["genes", "how-sure", "larger-than-this-machine", "limits", "missing", "past-thirty"]
SLOW += ["pictures", "scikit-learn", "time"]
NEEDS = {f"guide/{page}": [pytest.mark.slow] for page in SLOW}
NEEDS["guide/after-learning"] = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the other programs' own
    pytest.mark.skipif(
        not all(map(find_spec, ["arviz", "dowhy", "semopy"])),
        reason="needs pip install skbn[interchange]",
    ),
]
NEEDS["guide/scikit-learn"] += [pytest.mark.needs_sklearn("1.9", "has callbacks")]


@pytest.mark.parametrize("page", [pytest.param(p, marks=NEEDS.get(p, ())) for p in pages()])
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CHECKS.get(page, dict)(run_blocks(DOCS / f"{page}.md"))


def test_names_beside_those_of_other_libraries():
    """What the tables put beside another library's names exists."""
    text = (DOCS / "guide/comparison.md").read_text(encoding="utf-8")
    text = text[text.index("## Names of functions") :]
    rows = [row for row in text.splitlines() if row.startswith("|")]
    ours = re.sub(r"\(\S+\.md\S*\)", "", " ".join(row.split("|")[3] for row in rows))
    X, _ = make_gaussian_network(3, n_samples=50, random_state=0)
    learner = skbn.GaussianBNLearner().fit(X)
    owners = {"a": learner.network_, "network": learner.network_, "dag": learner.dag_}
    owners |= {"learner": learner, "networkx": networkx}
    owners["scores"] = skbn.LocalScoreTransformer().fit_transform(X)
    owners |= {"posterior": skbn.GaussianBNPosterior, "skbn": skbn}
    owners["bootstrap"] = skbn.BootstrapBNLearner(learner, n_resamples=2, random_state=0).fit(X)
    attributes = set(re.findall(r"\b([a-z]\w*)\.([a-z]\w*)", ours))
    assert len(attributes) > 20
    assert not [f"{a}.{b}" for a, b in attributes if not hasattr(owners[a], b)]
    assert set(re.findall(r"skbn\.io\.(\w+)", ours)) <= set(skbn.io.__all__)
    classes = set(re.findall(r"\b((?:Bootstrap|Gaussian|Local|Network)\w+)", ours))
    assert classes <= set(skbn.__all__)


def test_all_pages_with_checks_are_run():
    assert set(CHECKS) <= set(pages())


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "2"),
    ],
)
def test_a_wrong_output_fails(tmp_path, block, message):
    page = tmp_path / "page.md"
    page.write_text(block, encoding="utf-8")
    raises(message, run_blocks, page, kind=AssertionError)


# The notebook's stored outputs are those of its code; the stored network is the table's


EXAMPLES = Path(__file__).parents[1] / "examples"


def outputs(notebook):
    return [
        output.get("data", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


def kinds(notebook):
    return [sorted(data) for data in outputs(notebook)]


def texts(notebook):
    """Return what is shown as text alone; versions of pandas and matplotlib set the rest."""
    return [data["text/plain"] for data in outputs(notebook) if list(data) == ["text/plain"]]


@pytest.mark.slow
def test_the_notebook_shows_what_its_code_gives(monkeypatch):
    reason = "needs pip install skbn[lint]"
    nbclient, nbformat = (pytest.importorskip(x, reason=reason) for x in ("nbclient", "nbformat"))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # or it would show no pictures
    stored = nbformat.read(EXAMPLES / "quick_start.ipynb", as_version=4)
    run = copy.deepcopy(stored)
    nbclient.NotebookClient(run, resources={"metadata": {"path": EXAMPLES}}).execute()
    assert kinds(run) == kinds(stored)
    assert texts(run) == texts(stored)
    assert "-3490.9553" in texts(run)


def test_the_stored_network_of_30_columns_is_fitted_to_the_table():
    table = load_breast_cancer(as_frame=True).data
    text = (EXAMPLES / "breast_cancer.json").read_text(encoding="utf-8")
    network = GaussianBayesianNetwork.from_json(text)
    assert network.nodes == list(table.columns)
    score = LocalScoreTransformer().fit_transform(table).network_score(network.dag)
    assert score == pytest.approx(17565.4626, abs=1e-4)
    fitted = GaussianBayesianNetwork(network.dag).fit(table)
    np.testing.assert_allclose(network.coef_, fitted.coef_, rtol=1e-6)
    np.testing.assert_allclose(network.noise_variance_, fitted.noise_variance_, rtol=1e-9)
