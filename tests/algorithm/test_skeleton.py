"""The level loop: an interrupt keeps the levels before it."""

import pickle

import pytest
from common import assert_same

from pycupc import Interrupted, skeleton
from pycupc.data import load_example


def test_interrupted_can_be_pickled():
    def stop(level, *_):
        if level == 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        skeleton(load_example("cell_nuclei"), progress=stop, engine="reference")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is Interrupted
    assert str(again) == str(caught.value)
    assert again.level == 1
    assert_same(again.partial, caught.value.partial)
    assert str(pickle.loads(pickle.dumps(Interrupted(0, None)))) == str(Interrupted(0, None))
