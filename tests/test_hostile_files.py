"""Networks in JSON from anyone: each text is read as it says, or refused."""

import json
import re

import hypothesis
import hypothesis.strategies as st
import networkx as nx
import pytest

from skbn import GaussianBayesianNetwork

JSON_TOKENS = [
    *["0", "-1", "true", "null", "NaN", "-Infinity", "1e999", "1e-999", "5e-324", "-0.0", "1_0"],
    *[
        "0x10",
        "9" * 400,
        "9" * 5000,
        "[]",
        "{}",
        "[" * 2000,
        '"a"',
        '"b"',
        '"id"',
        '"c"',
        '"\\ud800"',
    ],
    *[
        '"weight"',
        '"weight": 2,',
        '"a": 1,',
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "\0",
        "\ufeff",
        "1",
        "01",
    ],
]


def mutated(text, tokens, split, rng):
    """Delete, insert, repeat and replace some tokens, lines and bytes of a text."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["token", "token", "line", "byte"])
        if kind == "byte":
            data = text.encode("utf-8", "surrogateescape")
            i = rng.randrange(len(data) + 1)
            new = bytes(rng.choices(range(256), k=rng.randint(0, 1)))
            data = data[:i] + new + data[i + rng.randint(0, 1) :]
            text = data.decode("utf-8", "surrogateescape")
            continue
        parts = re.split(split if kind == "token" else r"(?<=\n)", text)
        i = rng.randrange(len(parts))
        new = rng.choice([*tokens, "", rng.choice(parts)] if kind == "token" else ["", *parts])
        parts[i : i + rng.randint(0, 1)] = [new, rng.choice(["", " ", "\n"])]
        text = "".join(parts)
    return text


def network():
    dag = nx.DiGraph()
    dag.add_node("a", intercept=5e-324, noise_variance=1 / 3)
    dag.add_node(7, intercept=-0.0, noise_variance=2.0)
    dag.add_node('q"\n é\ud800', intercept=1e300, noise_variance=0.0)
    dag.add_edge("a", 7, weight=1e-300)
    dag.add_edge(7, 'q"\n é\ud800', weight=-1.7976931348623157e-10)
    return GaussianBayesianNetwork(dag)


def pairs_once(pairs):
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def check_json(text):
    """Hold what is read against what the text says; return whether it was read."""
    try:
        read = GaussianBayesianNetwork.from_json(text)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    assert len(message) < 1000
    if message:
        return False
    said = json.loads(text, object_pairs_hook=pairs_once)
    assert set(said) <= {"directed", "multigraph", "graph", "nodes", "edges"}
    assert not said.get("graph")
    assert [
        {"id": node, "intercept": intercept, "noise_variance": variance}
        for node, intercept, variance in zip(
            read.nodes, read.intercept_, read.noise_variance_, strict=True
        )
    ] == said["nodes"]
    edges = {(edge["source"], edge["target"]): edge["weight"] for edge in said["edges"]}
    assert {(a, b): weight for a, b, weight in read.dag_.edges(data="weight")} == edges
    assert all(len(edge) == 3 for edge in said["edges"])
    return True


@hypothesis.given(st.randoms(use_true_random=False))
@hypothesis.settings(max_examples=200)
def test_a_changed_network_is_read_as_it_says_or_refused(rng):
    check_json(mutated(network().to_json(), JSON_TOKENS, r"(?<=[\[\]{}:, ])|(?=[\[\]{}:, ])", rng))


def test_a_network_that_ends_anywhere():
    text = network().to_json()
    assert [end for end in range(len(text) + 1) if check_json(text[:end])] == [len(text)]


NODE = {"id": "a", "intercept": 0, "noise_variance": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"intercept": 0', '"intercept": true', "intercept of node 'a' must be .*; got True"),
        ('"intercept": 0', '"intercept": 0, "intercept": 1', "the key 'intercept' twice"),
        ('"intercept": 0', '"intercept": 0, "mean": 1', "in node 'a' the key 'mean', which would"),
        ('"graph": {}', '"graph": {"a": 1}', "has \"graph\": {'a': 1}; it must be {}"),
        ('"graph": {}', '"graph": {}, "links": []', "the key 'links', which would be lost"),
        ('"intercept": 0', f'"intercept": {"9" * 5000}', "an integer of 5,000 digits"),
        ('"noise_variance": 1', '"noise_variance": 1e-400', "1e-400', too near 0 for float64"),
        ('"intercept": 0', '"intercept": 1_0', r"not JSON: Expecting .*: line 1 column \d+"),
        ('"id": "a"', f'"id": {"[" * 500 + "]" * 500}', r"no string or integer: {'id': \[\["),
        ('"id": "a"', f'"id": {"[" * 50_000}', "nested too deeply"),
    ],
)
def test_what_would_be_lost_or_guessed_is_refused(old, new, message):
    text = json.dumps(
        {"directed": True, "multigraph": False, "graph": {}, "nodes": [NODE], "edges": []}
    )
    assert check_json(text)
    with pytest.raises(ValueError, match=message):
        GaussianBayesianNetwork.from_json(text.replace(old, new))


def test_networks_of_too_many_nodes():
    nodes = [NODE | {"id": j} for j in range(10_001)]
    document = {"directed": True, "multigraph": False, "nodes": nodes, "edges": []}
    with pytest.raises(ValueError, match=r"text has 10,001 nodes; JSON is for .* up to 10,000"):
        GaussianBayesianNetwork.from_json(json.dumps(document))


def test_a_network_in_a_file(tmp_path):
    path = tmp_path / "network.json"
    assert network().to_json(path) is None
    assert path.read_text(encoding="utf-8") == network().to_json() + "\n"
    again = GaussianBayesianNetwork.from_json(path)
    assert again.to_json() == network().to_json()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert GaussianBayesianNetwork.from_json(path).nodes == network().nodes
    with pytest.raises(ValueError, match="To read a file, give a pathlib"):
        GaussianBayesianNetwork.from_json(str(path))
    for data, message in [
        (b"{\n\xff}", "line 2: a byte is not UTF-8"),
        (b"{\n\n\0", "line 3: a byte is 0"),
        (b"{\n,", r"network.json is not JSON: .*: line 2 column 1"),
        (b"{}", "network.json must hold an object with a list 'nodes'"),
    ]:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=message):
            GaussianBayesianNetwork.from_json(path)


@pytest.mark.slow
def test_a_hundred_megabytes_in_a_line(path):
    text = network().to_json()
    path.write_text(text[:-1] + ', "x": "' + "y" * (100 << 20) + '"}', encoding="utf-8")
    with pytest.raises(ValueError, match="the key 'x'"):
        GaussianBayesianNetwork.from_json(path)


@pytest.mark.slow
def test_a_hundred_megabytes_of_a_network(path):
    dag = nx.DiGraph()
    names = (f"{j}" + "n" * 100_000 for j in range(1_000))
    dag.add_nodes_from(names, intercept=1, noise_variance=1)
    GaussianBayesianNetwork(dag).to_json(path)
    assert path.stat().st_size > 100e6
    assert GaussianBayesianNetwork.from_json(path).nodes == list(dag)
