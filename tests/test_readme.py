"""The README's Python blocks, run one after the other as a reader would."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks():
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["learner"].network_score_ == pytest.approx(-3490.95528398)
    assert names["dag"].edges["alcohol", "color_intensity"]["weight"] == pytest.approx(1.51222974)
    assert list(names["search"].predict(names["wine"])) == list(names["wine"].columns)
    assert names["scores"].n_families == 53248
