"""`content_digest`: the same in every process, and another one for every change that may change an answer."""

import functools
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from pycupc.independence.content_digest import content_digest

MODULE = """
import functools
import numpy as np
from math import erfc
LIMIT = 2
UNUSED = object()
class Base:
    shift = 1.0
    def moved(self, x):
        return x + self.shift
class Test(Base):
    def __init__(self, power=2): self.power = power
    @property
    def double(self): return 2 * self.power
    def batch(self, x, y, S): return self.moved(x) ** self.double
def again(n): return n if n < 1 else again(n - 1)
def helper(x): return np.sqrt(x) if x in {"a", "b", 3} else erfc(x) + LIMIT
def make(k):
    def inner(x, y, S, data, scale=1.0): return helper(x) * k * scale + again(3)
    return inner
@functools.cache
def kept(x): return helper(x)
def through(x, y, S, data): return kept(x)
f = make(3)
g = functools.partial(f, scale=2.0)
"""
NAMES = ("f", "g", "through", "Test()", "Test(3)", "make(4)")
CHANGES = {
    "LIMIT = 2": "LIMIT = 3",
    "shift = 1.0": "shift = 1.5",
    "2 * self.power": "3 * self.power",
    "x + self.shift": "x - self.shift",
    "power=2": "power=5",
    "np.sqrt(x)": "np.exp(x)",
    '"b", 3': '"c", 3',
    "scale=1.0": "scale=1.1",
    "make(3)": "make(5)",
    "scale=2.0": "scale=2.5",
    "again(n - 1)": "again(n - 2)",
    "erfc(x)": "abs(x)",
}


def digests(text, name="users"):
    """The digests of the tests in a module with this text."""
    spaces = {"__name__": name}
    exec(textwrap.dedent(text), spaces)
    return [content_digest(eval(one, spaces))[0] for one in NAMES]


def test_every_test_has_its_own():
    found = digests(MODULE)
    assert len(set(found)) == len(found)
    assert digests(MODULE) == found


@pytest.mark.parametrize("before", CHANGES)
def test_a_change_that_may_change_an_answer_changes_it(before):
    assert before in MODULE
    changed = [
        one != other
        for one, other in zip(digests(MODULE), digests(MODULE.replace(before, CHANGES[before])), strict=True)
    ]
    assert any(changed)
    of_class = [changed[k] for k in (3, 4)]
    if "self" in before or before.startswith(("shift", "power")):
        assert any(of_class)
        assert not any(changed[:3])
    else:
        assert not any(of_class)


def test_what_no_test_reads_does_not_change_it():
    assert digests(MODULE.replace("object()", "object(), 3")) == digests(MODULE)
    assert digests(MODULE, "others") != digests(MODULE)  # the qualified name counts


def test_it_is_the_same_in_another_process(tmp_path):
    (tmp_path / "users.py").write_text(MODULE)
    command = (
        "import users\nfrom pycupc.independence.content_digest import content_digest\n"
        f"for name in {NAMES}: print(content_digest(eval('users.' + name))[0])"
    )
    found = set()
    for seed in "12":
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)}
        out = subprocess.run(
            [sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True
        )
        found.add(out.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == len(NAMES)


USES_MODULES = """
import first
def whole(x, y, S, data): return first.helper(x)
def late(x, y, S, data):
    from first import helper
    return helper(x)
"""


@pytest.mark.parametrize("name", ["whole", "late"])
def test_the_modules_that_a_test_uses_count(tmp_path, monkeypatch, name):
    monkeypatch.syspath_prepend(tmp_path)
    found = set()
    for of_first, of_second in (("1", "2"), ("2", "2"), ("1", "3")):
        (tmp_path / "first.py").write_text(f"import second\ndef helper(x): return second.helper(x) + {of_first}")
        (tmp_path / "second.py").write_text(f"def helper(x): return x * {of_second}")
        for module in ("first", "second"):
            sys.modules.pop(module, None)
        spaces = {"__name__": "users"}
        exec(USES_MODULES, spaces)
        found.add(content_digest(spaces[name])[0])
        assert content_digest(spaces[name])[0] in found
    assert len(found) == 3


def test_data_have_their_own():
    X = np.arange(12.0).reshape(4, 3)
    one, other = content_digest(max, {"C": X, "n": 5}), content_digest(max, {"C": X + 1e-12, "n": 5})
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert content_digest(max, {"C": X.copy(), "n": 5}) == one


def test_none_where_there_is_something_that_cannot_be_described():
    lock = threading.Lock()
    knot = []
    knot.append(knot)
    for thing in (lambda x: lock, functools.partial(max, lock), lambda x: knot):
        assert content_digest(thing) is None
    assert content_digest(max, lock) is None
