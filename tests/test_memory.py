import psutil
import pytest

from skbn import _memory


@pytest.fixture
def control_group(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "_CONTROL_GROUP", tmp_path)
    return tmp_path


def test_without_a_container_the_machine_sets_the_limit(control_group):
    assert 0 < _memory.available_memory() < psutil.virtual_memory().total


def test_a_container_sets_the_limit(control_group):
    (control_group / "memory.max").write_text("1000000\n", encoding="utf-8")
    (control_group / "memory.current").write_text("200000\n", encoding="utf-8")
    assert _memory.available_memory() == 760_000  # less a twentieth


def test_a_container_without_a_limit(control_group):
    (control_group / "memory.max").write_text("max\n", encoding="utf-8")
    (control_group / "memory.current").write_text("200000\n", encoding="utf-8")
    assert _memory.available_memory() > 10_000_000


def test_memory_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: 2_000_000)
    _memory.require_memory(2_000_000, "This")
    with pytest.raises(
        ValueError, match=r"This needs 3,000,000 bytes of memory, and 2,000,000 bytes are"
    ):
        _memory.require_memory(3_000_000, "This")


def test_allocated_memory_is_there():
    for size in (0, 1, 1000, 3_000_000):
        array = _memory.allocate(size)
        assert array.shape == (size,)
        assert array.dtype == float
    del array
    before = psutil.Process().memory_info().rss
    array = _memory.allocate(20_000_000)
    assert psutil.Process().memory_info().rss - before > 0.9 * array.nbytes
