"""Values that several threads share are made once."""

import threading

from pycupc.independence.kernel.kept import Once
from pycupc.system import machine


def test_a_value_is_made_by_one_thread_and_its_error_reaches_all():
    once, entered, calls = Once(), threading.Event(), []

    def make(key):
        def slowly():
            calls.append(key)
            entered.wait(5)
            return 1 // key

        return slowly

    def ask(key):
        entered.set()
        try:
            return once.get(key, make(key))
        except ZeroDivisionError:
            return "error"

    assert list(machine.in_threads(ask, [1, 1, 0, 0, 1, 0], 4)) == [1, 1, "error", "error", 1, "error"]
    assert sorted(calls) == [0, 1]
