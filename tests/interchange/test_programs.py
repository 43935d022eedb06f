"""Networks in the programs that they were written for, where these are installed.

``pip install "skbn[interchange]"`` installs them.
"""

import shutil
import subprocess

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from agreement import raises
from drawn import weighted
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from skbn import GaussianBayesianNetwork, GaussianBNLearner, GaussianBNPosterior
from skbn.io import legal_names, to_arviz, to_bnlearn, to_dowhy, to_gml, to_graphml, to_lavaan

pytestmark = pytest.mark.filterwarnings("ignore")  # the other programs' own


@pytest.fixture(scope="module")
def table(wine):
    some = wine.iloc[:, 7:]
    return pd.DataFrame(StandardScaler().fit_transform(some), columns=some.columns)


@pytest.fixture(scope="module")
def learner(table):
    return GaussianBNLearner().fit(table)


def program(name):
    missing = f"{name} is not installed: pip install skbn[interchange]"
    return pytest.importorskip(name, reason=missing)


def test_semopy_fits_the_same_model(learner, table):
    semopy, network = program("semopy"), learner.network_
    model = semopy.Model(to_lavaan(network))
    model.fit(table.rename(columns=legal_names(network)))
    found, expected = semopy.calc_stats(model).iloc[0], network.fit_indices(table)
    assert found["DoF"] == expected.df
    assert found["DoF Baseline"] == expected.baseline_df
    assert found["chi2"] == pytest.approx(expected.chi2, rel=1e-4)
    assert min(found["CFI"], 1.0) == pytest.approx(expected.cfi, abs=1e-4)
    assert found["TLI"] == pytest.approx(expected.tli, abs=1e-4)


def test_semopy_reads_fixed_parameters(learner, table):
    semopy, network = program("semopy"), learner.network_
    model = semopy.Model(to_lavaan(network, fixed=True))
    model.load(table.rename(columns=legal_names(network)))
    assert len(model.param_vals) == 0
    node_of = {legal: node for node, legal in legal_names(network).items()}
    expected = network[[node_of[v] for v in model.vars["observed"]]].covariance
    assert_allclose(model.calc_sigma()[0], expected, rtol=1e-9, atol=1e-12)


needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


def run_r(script, folder):
    """Return the numbers that R prints; skip where a package that it loads is missing."""
    call = ["Rscript", "-e", script]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    if "there is no package called" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()]


@needs_r
def test_lavaan_fits_the_same_model(wine, tmp_path):
    network = GaussianBNLearner().fit(wine).network_
    (tmp_path / "model").write_text(to_lavaan(network) + "\n", encoding="utf-8")
    wine.rename(columns=legal_names(network)).to_csv(tmp_path / "rows", index=False)
    script = """
        options(warn = -1)
        suppressMessages(library(lavaan))
        model <- readLines("model"); rows <- read.csv("rows")
        fit <- sem(model, rows, meanstructure = TRUE)
        names <- c("chisq", "df", "pvalue", "cfi", "tli", "rmsea", "rmsea.ci.upper", "aic", "bic")
        found <- c(fitMeasures(fit, names), fitMeasures(sem(model, rows), "srmr"))
        cat(sprintf("%.12g", found))
    """
    indices = network.fit_indices(wine)
    names = ["chi2", "df", "p_value", "cfi", "tli", "rmsea", "rmsea_high", "aic", "bic", "srmr"]
    expected = [getattr(indices, name) for name in names]
    assert_allclose(run_r(script, tmp_path), expected, rtol=1e-4, atol=1e-6)


@needs_r
def test_r_reads_the_code_for_bnlearn(learner, tmp_path):
    (tmp_path / "code.R").write_text(to_bnlearn(learner.network_), encoding="utf-8")
    script = """
        call <- parse("code.R")[[1]]
        nodes <- eval(call[[3]])  # the parameters, without bnlearn
        cat(sprintf("%.17g", unlist(lapply(nodes, function(node) c(node$coef, node$sd)))))
    """
    expected = []
    for node, data in learner.dag_.nodes.items():
        weights = [edge["weight"] for edge in learner.dag_.pred[node].values()]
        expected += [data["intercept"], *weights, np.sqrt(data["noise_variance"])]
    assert_allclose(run_r(script, tmp_path), expected, rtol=1e-15)


def test_dowhy_has_the_distribution_of_the_network(learner, table):
    gcm, network = program("dowhy.gcm"), learner.network_
    gcm.util.general.set_random_seed(0)
    model = to_dowhy(network)
    drawn = gcm.draw_samples(model, 100_000)[table.columns]
    assert_allclose(drawn.mean(), network.mean_, atol=0.02)
    assert_allclose(drawn.cov(), network.covariance_, atol=0.03)
    asked = {"hue": lambda _: 1.2}
    found = gcm.counterfactual_samples(model, asked, observed_data=table)[table.columns]
    assert_allclose(found, network.counterfactual(table, do={"hue": 1.2}), atol=1e-9)
    drawn = gcm.interventional_samples(model, asked, num_samples_to_draw=100_000)[table.columns]
    assert_allclose(drawn.mean(), network.do({"hue": 1.2}).mean_, atol=0.02)


def test_dowhy_changes_nothing_of_the_network(learner, table):
    gcm, network = program("dowhy.gcm"), learner.network_
    before = network.dag.copy(), learner.dag_.copy(), network.dag.copy()
    model = to_dowhy(network)
    gcm.fit(model, table + np.random.default_rng(0).normal(size=table.shape))
    after = network.dag, learner.dag_, network.dag
    assert all(map(nx.utils.graphs_equal, before, after))


def test_dowhy_names_nodes_by_strings():
    network = GaussianBayesianNetwork(weighted([0]))
    raises("dowhy names nodes by strings; got 0", to_dowhy, network)


@pytest.mark.parametrize("write", [to_gml, to_graphml])
def test_igraph_reads_the_figures(learner, write, tmp_path):
    igraph = program("igraph")
    write(learner.network_, tmp_path / "file")
    read = {to_gml: igraph.Graph.Read_GML, to_graphml: igraph.Graph.Read_GraphML}[write]
    found = read(str(tmp_path / "file"))
    expected = learner.network_.to_frame()
    ends = {(found.vs[e.source]["label"], found.vs[e.target]["label"]): e for e in found.es}
    for _, row in expected.iterrows():
        edge = ends[row["parent"], row["child"]]
        assert edge["weight"] == row["weight"]
        assert edge["pValue" if write is to_gml else "p_value"] == row["p_value"]


@pytest.fixture(scope="module", params=["exact", "sampling"])
def posterior(request, table):
    program("arviz")
    return GaussianBNPosterior(method=request.param, random_state=0).fit(table.iloc[:, :5])


def test_arviz_has_the_edges_and_effects(posterior):
    arviz = program("arviz")
    data = to_arviz(posterior, 500, random_state=0)
    drawn = data["posterior"]
    assert drawn["edge"].shape == (4, 500, 5, 5)
    shares = drawn["edge"].mean(("chain", "draw")).values
    assert_allclose(shares, posterior.edge_probabilities_, atol=0.05)
    effects = posterior.effects(n_samples=2000, random_state=0)
    assert_allclose(drawn["effect"].mean(("chain", "draw")), effects.mean, atol=0.05)
    assert ((drawn["weight"] != 0) == drawn["edge"]).all()
    if posterior.method == "sampling":
        by_chain = drawn["edge"].mean("draw").values
        assert_allclose(by_chain, posterior.chain_edge_probabilities_, atol=0.1)
    r_hat = arviz.rhat(data, var_names=["score", "n_edges"])
    assert max(float(r_hat[name]) for name in ("score", "n_edges")) < 1.05
    bare = to_arviz(posterior, 500, parameters=False, random_state=0)["posterior"]
    assert set(bare) == {"edge", "n_edges", "score"}


def test_only_posteriors_have_draws(learner):
    raises("posterior must be a fitted GaussianBNPosterior", to_arviz, learner, kind=TypeError)
