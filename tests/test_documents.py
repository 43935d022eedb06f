"""The Python blocks of the README and of the pages, run in turn as a reader would."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_blocks(path):
    """Run all blocks of a page in one namespace, and return it."""
    blocks = re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(block, names)
    return names


def test_readme():
    names = run_blocks(ROOT / "README.md")
    assert names["learner"].network_score_ == pytest.approx(-3490.95528398)
    assert names["dag"].edges["alcohol", "color_intensity"]["weight"] == pytest.approx(1.51222974)
    assert list(names["search"].predict(names["wine"])) == list(names["wine"].columns)
    assert names["scores"].n_families == 53248


@pytest.mark.parametrize("page", ["scores", "constraints", "networks", "scikit-learn"])
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_blocks(ROOT / "docs" / "guide" / f"{page}.md")
    if page == "scores":
        assert (tmp_path / "wine.jkl").exists()
        assert names["in_their_units"].dag_.number_of_edges() == 49
        assert names["alike"].dag_.number_of_edges() == 25
        assert [t.difference for t in names["scores"].top_parents("proline", 2)] != [0, 0]
    if page == "constraints":
        assert names["scores"].n_families == 1027
    if page == "scikit-learn":
        assert list(names["numbered"].predict(names["wine"])) == list(range(13))
        assert (names["best"].penalty_, names["sparse"].penalty_) == (2.0, 8.0)
        assert names["by_aic"].n_features_in_ == names["learner"].n_features_in_ == 13
        whole = names["GaussianBNLearner"]("aic").fit(names["wine"])
        assert names["by_aic"].network_score_ == pytest.approx(whole.network_score_)
    if page == "networks":
        assert not names["theirs"].is_equivalent(names["network"])
