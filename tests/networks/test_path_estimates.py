"""Effects along paths over sampled networks: against the table of paths of each network."""

import numpy as np
import pytest

from skbn import GaussianBNPosterior


@pytest.fixture(scope="module")
def posterior(small_wine):
    return GaussianBNPosterior().fit((small_wine - small_wine.mean()) / small_wine.std())


def test_paths_are_those_of_each_network(posterior):
    effects = posterior.path_effects("alcohol", "ash", n_samples=200, random_state=0)
    networks = posterior.sample_networks(200, random_state=0)
    tables = [network.path_effects("alcohol", "ash") for network in networks]
    for path, values in effects.paths.items():
        expected = [
            sum(e for p, e in zip(table["path"], table["effect"], strict=True) if p == [*path])
            for table in tables
        ]
        np.testing.assert_allclose(values, expected, atol=1e-14)
    totals = [network.total_effect("alcohol", "ash") for network in networks]
    np.testing.assert_allclose(effects.total.values, totals, atol=1e-14)
    direct = [network.coef_[0, 3] for network in networks]
    np.testing.assert_allclose(effects.direct.values, direct, atol=1e-14)
    assert effects.direct.mean + effects.indirect.mean == pytest.approx(effects.total.mean)
    assert effects.mediated_share == pytest.approx(effects.indirect.mean / np.mean(totals))

    frame = effects.to_frame(0.9)
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["path"][0][0] == "alcohol"
    between = effects.mediators()
    for node in ("proline", "hue"):
        expected = np.mean([x for p, x in effects.paths.items() if node in p[1:-1]], axis=1).sum()
        assert between[between["mediator"] == node]["mean"].item() == pytest.approx(expected)
    held = [n.do({"proline": 0.0}).total_effect("alcohol", "ash") for n in networks]
    row = between[between["mediator"] == "proline"]
    assert row["mean"].item() == pytest.approx(np.mean(totals) - np.mean(held))
    assert len(effects.plot(n=2).labels) == 2


def test_no_path(small_wine):
    posterior = GaussianBNPosterior(tiers=[["ash"], ["alcohol", "hue", "proline"]]).fit(
        (small_wine - small_wine.mean()) / small_wine.std()
    )
    effects = posterior.path_effects("alcohol", "ash", n_samples=20, random_state=0)
    assert effects.paths == {}
    assert effects.total.mean == 0
    assert np.isnan(effects.mediated_share)
    assert "0 paths" in repr(effects)
