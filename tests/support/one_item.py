"""The work of the CPU engine's threads one item at a time, so that a test can do something between items."""

import threading
from functools import partial

import numpy as np

from pycupc.engines.cpu import level1, level1_from_columns, setwise_walk, turn_walk
from pycupc.engines.cpu.row_items import RowWork, until_careful
from pycupc.engines.cpu.threads import STOP


def _kinds(kind=RowWork):
    for own in kind.__subclasses__():
        yield own
        yield from _kinds(own)


def one_at_a_time(monkeypatch, between):
    """Let compiled code return after each item, and call ``between()`` before and after the item."""
    lock = threading.Lock()

    def taken(following, items, state):
        while not state[STOP]:
            with lock:
                number, following[0] = int(following[0]), following[0] + 1
            if number >= len(items):
                return
            between()
            yield items[number : number + 1]
            between()

    def stepwise(whole):
        def walk(self, part, space, state):
            for items in taken(part.following, part.items, state):
                one = part._replace(items=items, following=np.zeros(1, dtype=np.int64))
                until_careful(partial(whole, self, one, space, state), state)

        return walk

    for kind in set(_kinds()):
        if "_walk" in vars(kind) and not getattr(kind._walk, "__isabstractmethod__", False):
            monkeypatch.setattr(kind, "_walk", stepwise(kind._walk))
    _in_steps(monkeypatch, level1, "run_blocks", 5, taken)
    _in_steps(monkeypatch, level1_from_columns, "_run_rows", 7, taken)
    _in_steps(monkeypatch, turn_walk, "take_turns", 2, taken)
    for name in ("next_sets", "enter_round"):
        monkeypatch.setattr(setwise_walk, name, _after(between, getattr(setwise_walk, name)))


def _in_steps(monkeypatch, module, name, at, taken):
    """Let a compiled function return after each item; argument `at` has the items, the next one their counter, the last
    the state of the thread."""
    whole = getattr(module, name)

    def stepwise(*given):
        for some in taken(given[at + 1], given[at], given[-1]):
            one = *given[:at], np.ascontiguousarray(some), np.zeros(1, dtype=np.int64), *given[at + 2 :]
            until_careful(partial(whole, *one), given[-1])

    monkeypatch.setattr(module, name, stepwise)


def _after(between, function):
    def call(*given):
        between()
        return function(*given)

    return call
