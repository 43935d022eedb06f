"""What a notebook shows: tables in HTML and in text, estimators and their links."""

import base64
import copy
import inspect
import pickle
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from agreement import raises
from drawn import weighted
from matplotlib import pyplot
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbn
from skbn._core.text import readable_count, readable_size
from skbn._data.sample import Sample
from skbn._displays.notebook import PlainTable, frame_of
from skbn._scores.base import ScoredParents, TopParents

HOSTILE = "<script>alert('a&b')</script>"
PAGES = "https://skbn.readthedocs.io/en/latest/api/"


@pytest.fixture
def scores(small_wine):
    return skbn.LocalScoreTransformer().fit_transform(small_wine)


@pytest.fixture
def learner(small_wine):
    return skbn.GaussianBNLearner().fit(small_wine)


def listed(*columns):
    """Return ParentSetScores in which no column has parents."""
    families = [(np.full((1, 1), -1), np.array([-float(x)])) for x in range(len(columns))]
    return skbn.ParentSetScores(list(columns), families)


def unread(m, criterion=None, names=None, **settings):
    """Return the scores of m columns that nobody computes."""
    sample = Sample(np.zeros((3, m)))
    return skbn.LocalScores._from_sample(sample, criterion or skbn.BIC(), names, **settings)


def network_of(edges):
    return skbn.GaussianBayesianNetwork(nx.DiGraph(edges))


def cells(shown):
    """Return a table's rows as texts, of HTML that must be well-formed."""
    rows = ElementTree.fromstring(shown._repr_html_()).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


class Elements(HTMLParser):
    """Counts elements, and sees to it that each is closed in its turn."""

    def __init__(self, html):
        super().__init__()
        self.open, self.links, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "input"):  # which need no end
            self.open.append(tag)
        if tag == "a" and "href" in dict(attrs):
            self.links.append(dict(attrs)["href"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


# Scores


def test_local_scores_show_themselves(scores):
    assert dict(cells(scores)) == {
        "families": "32",
        "rows": "178",
        "columns": "4: alcohol, proline, hue, ash",
        "criterion": "BIC()",
        "penalty": "1",
        "memory": "128 B of log-determinants, not computed yet",
    }
    assert repr(scores) == (
        "<LocalScores of 32 families, 178 rows x 4 columns, criterion=BIC(), penalty=1, 128 B>"
    )


def test_local_scores_show_settings_that_apply(small_wine):
    few = skbn.LocalScoreTransformer("bge", max_parents=1).fit_transform(small_wine.to_numpy())
    shown = dict(cells(few))
    assert "penalty" not in shown
    assert shown["max_parents"] == "1"
    assert shown["columns"] == "4, without names"
    assert shown["memory"].startswith("88 B")  # of the empty set, 4 columns and 6 pairs
    assert "criterion=BGe(), max_parents=1, 88 B>" in repr(few)


def test_showing_scores_computes_nothing(scores, monkeypatch):
    line = repr(scores)
    scores._repr_html_()
    assert scores.scorer.n_bytes == 0
    assert not {"tables", "offsets"} & {*vars(scores.scorer)}
    assert scores.scorer._shared.statistics is None
    monkeypatch.setattr("skbn._scores.scorer.require_memory", lambda *_: None)
    size = scores.log_determinants.nbytes
    assert dict(cells(scores))["memory"] == f"{size} B of log-determinants, computed"
    assert repr(scores) == line


def test_parent_set_scores_show_themselves():
    scores = listed("a", "b")
    assert repr(scores) == "<ParentSetScores of 2 families, 2 columns, 20 B>"
    assert dict(cells(scores)) == {"families": "2", "columns": "2: a, b", "memory": "20 B"}
    without = skbn.ParentSetScores(["a"], [(np.empty((0, 1), dtype=int), [])])
    assert repr(without) == "<ParentSetScores of 0 families, 1 column, 0 B>"
    assert dict(cells(without))["families"] == "0"


@pytest.mark.parametrize("name", [HOSTILE, '"><b onload="x', "a\nb\0", "\u202eabc"])
def test_names_are_nothing_but_text(name):
    scores = unread(2, names=np.array([name, "b"], dtype=object))
    top = TopParents(name, [ScoredParents([name], -1.0, 0.0)])
    for shown in (scores, listed(name, "b"), top):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "<b" not in html
        Elements(html)
    text = name if name.isprintable() else repr(name)
    assert cells(top)[1][3] == text
    assert text in dict(cells(scores))["columns"]
    assert repr(top).count("\n") == 2


def test_a_criterion_is_nothing_but_text():
    class Hostile(skbn.BIC):
        def __repr__(self):
            return HOSTILE + "\n" * 3 + "long" * 100

    scores = unread(2, Hostile())
    assert "<script" not in scores._repr_html_()
    assert dict(cells(scores))["criterion"].startswith(HOSTILE)
    assert "\n" not in repr(scores)
    for long in (scores, unread(500, skbn.BGe(nu=np.linspace(0, 1, 500)), max_parents=1)):
        assert len(repr(long)) < 200


def test_many_columns_are_shown_in_short():
    names = np.array([f"column_{v}_{'long' * 20}" for v in range(16_000)], dtype=object)
    scores = unread(16_000, names=names)  # Python does not write 2**16_000 in digits
    shown = dict(cells(scores))
    assert shown["columns"].startswith("16,000: column_0_longlong")
    assert shown["columns"].endswith(", ... and 15,980 more")
    assert re.fullmatch(r"\d\.\de\+\d+", shown["families"])
    assert len(repr(scores)) < 150
    assert len(scores._repr_html_()) < 4000
    assert dict(cells(listed(*names[:100])))["columns"].endswith(", ... and 80 more")


def test_numbers_are_readable():
    sizes = [0, 999, 1000, 999_949, 999_950, 8 * 2**30, 8 * 2**60, 8 * 2**100]
    texts = "0 B, 999 B, 1.0 kB, 999.9 kB, 1.0 MB, 8.6 GB, 9.2 EB, 1.0e+13 EB"
    assert ", ".join(map(readable_size, sizes)) == texts
    assert readable_count(10**15 - 1) == "999,999,999,999,999"
    assert readable_count(10**15) == "1.0e+15"


# Parents


def test_top_parents_are_a_table(scores):
    top = scores.top_parents("hue", 8)
    head, *body = cells(top)
    rows = [(f"{t.score:.2f}", f"{t.difference:.2f}", ", ".join(t.parents)) for t in top]
    assert body == [[str(i), *own[:2], own[2] or "(none)"] for i, own in enumerate(rows, start=1)]
    assert "Parents of &#x27;hue&#x27;" in top._repr_html_()
    lines = repr(top).split("\n")
    assert lines[0] == "Parents of 'hue', best first"
    assert lines[1].split() == head == ["rank", "score", "difference", "parents"]
    assert len(lines) == 10
    at = [re.fullmatch(r"( *\S+)( +\S+)( +\S+)  (\S.*)", line) for line in lines[1:]]
    for column in (1, 2, 3):
        assert len({match.end(column) for match in at}) == 1
    assert lines[2].endswith("  0.00  alcohol, proline")
    assert sum(line.endswith("  (none)") for line in lines) == 1


def test_long_and_empty_tables_of_parents():
    top = TopParents("c", [ScoredParents(["a"], -float(i), -float(i)) for i in range(60)])
    assert len(cells(top)) == 1 + 50 + 1
    assert repr(top).split("\n")[-1].split() == ["...", "and", "10", "more"]
    empty = TopParents("c", [])
    assert cells(empty) == [["rank", "score", "difference", "parents"]]
    assert repr(empty).split("\n")[1].split()[0] == "rank"
    top = TopParents(2, [ScoredParents(["noise, dB(A)", 0], -1.0, 0.0)])
    assert repr(top).startswith("Parents of 2, best first")
    assert repr(top).endswith("'noise, dB(A)', 0")


def test_top_parents_are_a_list(scores):
    top = scores.top_parents("hue", 3)
    assert isinstance(top, list)
    assert top == list(top)
    assert scores.top_parents("hue", 3) == top != top[:2]
    assert type(top[:2]) is type(top + top) is list
    for other in (pickle.loads(pickle.dumps(top)), copy.copy(top), copy.deepcopy(top)):
        assert type(other) is TopParents
        assert (other, other.child) == (top, "hue")
        assert repr(other) == repr(top)
    frame = pd.DataFrame(top)
    assert list(frame.columns) == ["parents", "score", "difference"]
    assert frame["parents"].tolist() == [t.parents for t in top]
    top.reverse()
    assert top[-1].difference == 0


# Estimators


ESTIMATORS = [
    skbn.LocalScoreTransformer(),
    skbn.GaussianBNLearner(),
    skbn.GaussianBNLearner(search="order", time_limit=60.0, random_state=0),
    skbn.GaussianBNLearnerCV(),
    skbn.NonGaussianBNLearner(),
    skbn.GaussianBNPosterior(),
    skbn.BootstrapBNLearner(),
    skbn.GaussianBNImputer(),
    skbn.MarkovBlanketSelector(),
    network_of(["ab"]),
    *(skbn.LogLikelihood(), skbn.AIC(), skbn.BIC(), skbn.EBIC(), skbn.BGe()),
]


def test_all_public_estimators_have_links():
    public = [getattr(skbn, name) for name in skbn.__all__]
    classes = [x for x in public if isinstance(x, type) and issubclass(x, BaseEstimator)]
    concrete = [each for each in classes if not inspect.isabstract(each)]
    assert {type(estimator) for estimator in ESTIMATORS} == set(concrete)
    for estimator in ESTIMATORS:
        page = f"{PAGES}skbn.{type(estimator).__name__}.html"
        assert page in Elements(estimator._repr_html_()).links

    class Theirs(skbn.GaussianBNLearner):
        pass

    assert "readthedocs" not in Theirs()._repr_html_()


@pytest.mark.needs_sklearn("1.9", "describes parameters")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_parameters_have_links_and_descriptions(estimator):
    page = f"{PAGES}skbn.{type(estimator).__name__}.html"
    html = estimator._repr_html_()
    elements = Elements(html)
    links = [link for link in elements.links if link.startswith(page)]
    parameters = estimator.get_params(deep=False)
    assert page in links
    assert [name for name in parameters if not any(f"={name},-" in each for each in links)] == []
    assert html.count('<span class="param-doc-description"') == len(parameters)


@pytest.mark.needs_sklearn("1.9", "shows fitted attributes")
def test_fitted_attributes_have_links_and_descriptions(learner, small_wine):
    assert "Not fitted" in Elements(skbn.GaussianBNLearner()._repr_html_()).texts
    for estimator in (learner, learner.network_, skbn.LocalScoreTransformer().fit(small_wine)):
        html = estimator._repr_html_()
        assert "Fitted" in Elements(html).texts
        attributes = [name for name in dir(estimator) if re.fullmatch(r"[a-z]\w*_", name)]
        parameters = estimator.get_params(deep=False)
        assert len(attributes) >= 2
        assert html.count('<span class="param-doc-description"') == len([*attributes, *parameters])
        assert len(html) < 92_000  # half of it is scikit-learn's style sheets


def test_a_network_that_is_not_proven_optimal_says_so(learner, small_wine):
    by_order = skbn.GaussianBNLearner(search="order", random_state=0)
    note = 'Not proven optimal: found by search="order".'
    for proven in (by_order, learner):
        assert note not in Elements(proven._repr_html_()).texts
    assert note in Elements(by_order.fit(small_wine)._repr_html_()).texts


@pytest.mark.needs_sklearn("1.9", "closes all tags of its tables")
def test_in_a_pipeline_and_a_search(small_wine):
    steps = StandardScaler(), skbn.LocalScoreTransformer(), skbn.GaussianBNLearner()
    pipeline = make_pipeline(*steps)
    search = GridSearchCV(pipeline, {"localscoretransformer__penalty": [1, 2]}, cv=2)
    for shown in (pipeline, search.fit(small_wine).best_estimator_, search):
        links = Elements(shown._repr_html_()).links
        assert f"{PAGES}skbn.GaussianBNLearner.html" in links
        assert f"{PAGES}skbn.LocalScoreTransformer.html" in links
        assert not any("scikit-learn.org" in link and "skbn" in link for link in links)


def test_large_parameters_are_shown_in_short():
    dag = nx.gn_graph(300, seed=0).reverse()
    learner = skbn.GaussianBNLearner(
        required_edges=skbn.GaussianBayesianNetwork(dag),
        forbidden_edges=[(v, w) for v in range(100) for w in range(v)],
        tiers=[list(range(200)), [HOSTILE]],
    )
    html = learner._repr_html_()
    Elements(html)
    assert len(html) < 60_000
    assert "<script>alert" not in html
    assert len(repr(learner)) < 2500
    for large in (skbn.GaussianBNLearner(required_edges=dag), skbn.GaussianBayesianNetwork(dag)):
        assert len(large._repr_html_()) < 54_000


def test_a_network_shows_what_it_has():
    dag = weighted("ab", [("a", "b", 1e100)], noise_variance=1e200)
    network = skbn.GaussianBayesianNetwork(dag)
    raises("out of float64's range", lambda: network.covariance_)
    assert "coef_" in dir(network)
    assert "covariance_" not in dir(network)


def test_display_as_text(scores, learner):
    bare = skbn.GaussianBNLearner("bic", max_parents=2)
    with config_context(display="text"):
        for shown in (scores, scores.top_parents("hue"), bare):
            assert shown._repr_html_() is None
        for shown in (bare, learner.network_):
            assert list(shown._repr_mimebundle_()) == ["text/plain"]
    with config_context(print_changed_only=False):
        assert "tiers=None" in repr(bare)
    assert repr(bare) == "GaussianBNLearner(criterion='bic', max_parents=2)"
    assert set(bare._repr_mimebundle_()) == {"text/plain", "text/html"}


# Distributions


def test_conditional_distributions_show_themselves():
    network = skbn.GaussianBayesianNetwork(weighted([HOSTILE, "a", "b"], noise_variance=4.0))
    given = network.condition({"b": 1.0})
    lines, head = repr(given).splitlines(), ["node", "mean", "standard deviation"]
    assert lines[0] == "Distribution of 2 nodes"
    assert lines[3].split() == ["a", "0", "2"]
    assert cells(given) == [head, [HOSTILE, "0", "2"], ["a", "0", "2"]]
    nothing = network.condition(dict.fromkeys(network.nodes, 1.0))
    assert repr(nothing).startswith("Distribution of 0 nodes")


# Pictures


def picture(shown):
    """Return the SVG in an object's HTML, and its description, or None."""
    images = re.findall(r'<img alt="([^"]*)" .*src="data:image/svg\+xml;base64,([^"]*)"', shown)
    if not images:
        return None
    ((alt, svg),) = images
    return alt, ElementTree.fromstring(base64.b64decode(svg))


def test_learners_and_networks_show_their_picture(learner):
    alt, svg = picture(learner._repr_html_())
    assert alt == "A network; nodes: 4, edges: 3"
    assert alt == picture(learner.network_._repr_html_())[0]
    width, height = (float(svg.get(name).removesuffix("pt")) for name in ("width", "height"))
    assert 50 < width < 500
    assert 50 < height < 500
    Elements(learner._repr_html_())
    assert picture(learner._repr_mimebundle_()["text/html"])[0] == alt
    assert picture(network_of(["ab"])._repr_html_())[0] == "A network; nodes: 2, edges: 1"
    assert pyplot.get_fignums() == []


def test_pictures_are_repeatable_and_depend_on_no_settings_of_text_and_figures(learner, small_wine):
    plain = picture(learner._repr_html_())[1]
    with matplotlib.rc_context({"text.usetex": True, "figure.autolayout": True}):
        again = picture(skbn.GaussianBNLearner().fit(small_wine)._repr_html_())[1]
    assert ElementTree.tostring(again) == ElementTree.tostring(plain)


def test_what_has_no_picture(learner, monkeypatch):
    assert picture(skbn.GaussianBNLearner()._repr_html_()) is None
    large = skbn.GaussianBayesianNetwork(nx.path_graph(60, nx.DiGraph))
    assert picture(large._repr_html_()) is None
    monkeypatch.setattr("skbn._displays.notebook.find_spec", lambda _: None)
    assert picture(learner._repr_html_()) is None  # without matplotlib


# Tables of results, with and without pandas


COLUMNS = {"parent": ["a", "b"], "weight": [1.5, 2.0]}


def test_without_pandas_the_same_columns_are_a_plain_table_that_others_take(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = frame_of(COLUMNS)
    assert isinstance(table, PlainTable)
    assert table == COLUMNS
    assert table.rows() == [("a", 1.5), ("b", 2.0)]
    monkeypatch.undo()
    for frame in (frame_of(COLUMNS), pd.DataFrame(table)):
        pd.testing.assert_frame_equal(frame, pd.DataFrame(COLUMNS))
    assert pl.DataFrame(table).to_dict(as_series=False) == COLUMNS
    assert pa.table(table).to_pydict() == COLUMNS


def test_numbers_are_aligned_at_the_right():
    weights = np.array([1.5, -22.25])
    columns = {"weight": weights, "n": [1, 10], "reversible": [True, False], "p": [0.5, None]}
    assert repr(PlainTable(columns)).split("\n") == [
        "weight   n  reversible  p",
        "   1.5   1  True        0.5",
        "-22.25  10  False       None",
    ]


def test_a_long_plain_table_is_shown_by_its_ends():
    text = repr(PlainTable({"i": range(100)})).split("\n")
    assert len(text) == 1 + 5 + 1 + 5
    assert [line.strip() for line in text] == ["i", *"01234", "...", *map(str, range(95, 100))]
    assert "<td" in PlainTable({"i": range(100), "j": range(100)})._repr_html_()
