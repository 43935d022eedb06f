"""Resources: limits, shares and deadlines."""

import pickle
import time
from dataclasses import replace

import pytest

from skbn._core.resources import Progress, Resources


def test_the_tighter_limit_holds_and_says_why():
    assert Resources(100).beside(20) == (120, "are available")
    assert Resources(100, 150).beside(20) == (120, "are available")
    assert Resources(100, 50).beside(20) == (50, "are allowed by max_memory")


def test_shares_of_memory():
    share = Resources(90, 60, scratch="a folder").share(3)
    assert (share.available, share.allowed, share.scratch) == (30, 20, "a folder")
    assert Resources(90).share(3).allowed is None


def test_what_is_left_without_other_memory():
    given = Resources(90, 60, scratch="a folder", n_jobs=2)
    assert given.in_process() == replace(given, scratch=None)
    assert given.of_memory(7).beside(0) == (7, "are available")


def test_a_deadline_begins_with_the_search():
    assert Resources(1).from_now().deadline == float("inf")
    assert Resources(1).end_of_share(0.5) == float("inf")
    begun = Resources(1, time_limit=100.0).from_now()
    now = time.monotonic()
    assert begun.deadline == pytest.approx(now + 100, abs=5)
    assert begun.end_of_share(0.25) == pytest.approx(now + 25, abs=5)


@pytest.mark.parametrize("time_limit", [None, 10.0])
@pytest.mark.parametrize("ends_on_interrupt", [False, True])
def test_an_interrupted_search_keeps_its_best_only_within_a_limit(time_limit, ends_on_interrupt):
    given = Resources(1, time_limit=time_limit, ends_on_interrupt=ends_on_interrupt)
    assert given.keeps_best_on_interrupt == (time_limit is not None and ends_on_interrupt)


def test_work_is_expected_once():
    percents = []
    progress = Progress(listeners=(lambda percent, *_: percents.append(percent),))
    progress.advance(5.0)  # nobody knows yet of how much
    assert percents == []
    progress.expect(10.0)
    progress.expect(1000.0)
    progress.advance(5.0)
    assert percents == [50]


def test_resources_can_be_sent_to_another_process():
    given = Resources(90, 60, n_jobs=2, progress=Progress(10.0, (print,)))
    sent = pickle.loads(pickle.dumps(given))
    assert replace(sent, progress=given.progress) == given
    sent.progress.advance(1.0)
