"""Files that are replaced as a whole or not at all, and paths that are not files."""

import os
import re
import stat

import networkx as nx
import pytest
from agreement import raises

from skbn import GaussianBayesianNetwork, ParentSetScores


def network():
    dag = nx.DiGraph()
    dag.add_node("a", intercept=0.1, noise_variance=1 / 3)
    return GaussianBayesianNetwork(dag)


@pytest.mark.parametrize("read", [ParentSetScores.from_jkl, GaussianBayesianNetwork.from_json])
def test_what_is_no_file(tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")
    raises(re.escape(tmp_path.name), read, tmp_path, kind=OSError)


def test_a_failed_writing_leaves_the_old_network(tmp_path, monkeypatch):
    path = tmp_path / "network.json"
    path.write_text("old", encoding="utf-8")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        network().to_json(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="missing"):
        network().to_json(tmp_path / "missing" / "network.json")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_of_open(tmp_path):
    path, plain = tmp_path / "a", tmp_path / "b"
    for mask in (0o022, 0o077):
        old = os.umask(mask)
        try:
            network().to_json(path)
            plain.write_text("", encoding="utf-8")
        finally:
            os.umask(old)
        assert path.stat().st_mode == plain.stat().st_mode
        path.unlink()
        plain.unlink()
    path.write_text("", encoding="utf-8")
    path.chmod(0o640)
    network().to_json(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o400)
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            network().to_json(path)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_are_followed_and_only_files_replaced(tmp_path):
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(real)
    network().to_json(link)  # to a file that is not there yet
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == network().to_json() + "\n"
    real.write_text("old", encoding="utf-8")
    network().to_json(link)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == network().to_json() + "\n"
    os.mkfifo(pipe)
    for other in (pipe, tmp_path):
        raises("is not a regular file", network().to_json, other, kind=OSError)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
