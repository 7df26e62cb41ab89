"""Work on executors: data once for each worker, lost workers, order, interrupts."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from elsewhere import Elsewhere

from pycupc.system import executors
from pycupc.system.executors import ItemFailed, Shared, Workers

DATA, LEVEL = Shared("data", np.arange(1000.0)), Shared("level 1", np.arange(1000))


def picked(data, level, k):
    return float(data[k] + level[k])


def plain(k):
    return -k


def failing(k):
    if k == 3:
        raise ZeroDivisionError("item 3")
    return k


class InTurn(Elsewhere):
    """Makes the tasks of the first 20 calls fail for which `fails` says so, with `error`."""

    def __init__(self, fails, error="lost", **options):
        super().__init__(**options)
        self.fails, self.error = fails, OSError(error)

    def submit(self, function, /, *args, **kwargs):
        future = super().submit(function, *args, **kwargs)
        if self.tasks > 20 or not self.fails(self.tasks):
            return future
        lost = Future()
        lost.set_exception(self.error)
        return lost


def test_several_shared_values_reach_each_worker_about_once():
    """Also the values of a later call, as of the next level; values of an earlier call are not sent again."""
    executor = Elsewhere(names=("one", "two", "three"))
    workers = Workers(executor)
    found = dict(workers.results(picked, ((k, (k,)) for k in range(200)), [DATA, LEVEL]))
    assert found == {k: 2.0 * k for k in range(200)}
    assert all({"data", "level 1"} == set(kept) for kept in executor.kept.values())
    assert 3 <= executor.sent < 25
    sent, later = executor.sent, Shared("level 2", 3 * np.arange(1000))
    found = dict(workers.results(picked, ((k, (k,)) for k in range(200)), [DATA, later]))
    assert found == {k: 4.0 * k for k in range(200)}
    assert 3 <= executor.sent - sent < 25
    assert all({"data", "level 1", "level 2"} == set(kept) for kept in executor.kept.values())
    assert dict(workers.results(plain, [(1, (1,))])) == {1: -1}  # nothing shared
    assert not executors._kept  # this process keeps nothing after the work


def test_a_worker_keeps_the_values_used_last():
    executor = Elsewhere()
    workers = Workers(executor)
    for level in range(2, 9):
        shared = [DATA, Shared(f"level {level}", np.arange(1000))]
        assert dict(workers.results(picked, [(1, (1,)), (2, (2,))], shared)) == {1: 2.0, 2: 4.0}
    assert executor.sent == 7  # each level, the first with the data
    assert set(executor.kept["one"]) == {"data", "level 6", "level 7", "level 8"}


@pytest.mark.parametrize("lifetime", [2, 7])
def test_restarted_workers_get_all_values_again(lifetime):
    executor = Elsewhere(lifetime=lifetime)
    found = dict(Workers(executor).results(picked, ((k, (k,)) for k in range(50)), [DATA, LEVEL]))
    assert found == {k: 2.0 * k for k in range(50)}


@pytest.mark.parametrize("fails", [lambda k: k == 1, lambda k: k % 5 == 0, lambda k: k in (2, 5)])
def test_tasks_of_lost_workers_are_sent_once_more(fails):
    """The first task too, which was to bring the data."""
    executor = InTurn(fails)
    found = dict(Workers(executor).results(picked, ((k, (k,)) for k in range(30)), [DATA, LEVEL]))
    assert found == {k: 2.0 * k for k in range(30)}


def test_an_item_that_fails_twice_is_named_after_the_results_before_it():
    for executor in (Elsewhere(), ThreadPoolExecutor(1)):
        found = []
        results = Workers(executor).results(failing, ((k, (k,)) for k in range(8)))
        with executor, pytest.raises(ItemFailed) as caught:
            found.extend(results)
        assert caught.value.key == 3
        assert str(caught.value.__cause__) == "item 3"
        assert {k for k, _ in found} >= {0, 1, 2}
    broken = InTurn(lambda k: True, "the pool is broken")
    with pytest.raises(ItemFailed) as caught:
        list(Workers(broken).results(plain, [("a", (1,))]))
    assert (caught.value.key, str(caught.value.__cause__)) == ("a", "the pool is broken")


def test_items_are_taken_when_they_are_submitted(monkeypatch):
    """No more than two for each worker that has replied, and one for each core of this machine."""
    monkeypatch.setattr(executors, "available_cores", lambda: 3)
    taken, done, ahead, lock = count(), count(), [], threading.Lock()

    def items():
        for k in range(100):
            with lock:
                ahead.append(next(taken) - k_done[0])
            yield k, (k,)

    k_done = [0]
    with ThreadPoolExecutor(2) as executor:
        for _ in Workers(executor).results(plain, items()):
            next(done)
            k_done[0] += 1
    assert next(taken) == 100
    assert max(ahead) <= 2 * 2 + 3


def test_an_interrupt_cancels_the_tasks_that_have_not_begun(monkeypatch):
    begun, go = [], threading.Event()

    def slow(k):
        begun.append(k)
        go.wait(60)

    with ThreadPoolExecutor(1) as executor:
        results = Workers(executor).results(slow, ((k, (k,)) for k in range(100)))

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(executors, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(results)
        go.set()
    assert len(begun) <= 1
