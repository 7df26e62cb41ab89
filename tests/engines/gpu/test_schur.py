"""Interrupts while kernels of the Schur walk run, without a GPU."""

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from gpu_on_host import HostDevice

from pycupc.engines.gpu import device, schur


def test_a_second_interrupt_while_kernels_stop_leaves_no_stop_flag():
    """With the flag set, all later kernels would return at once, and their run would give a wrong answer."""
    dev, flags = HostDevice({}), []
    values = np.array([0, 1], dtype=np.int32)
    dev._signals = SimpleNamespace(ptr=0, synchronize=lambda: None)
    dev._locked = SimpleNamespace(ptr=values.ctypes.data)

    def interrupted():
        flags.append(int(dev.stop[0]))
        if len(flags) == 1:
            raise KeyboardInterrupt

    dev.stream.synchronize = interrupted
    with pytest.raises(KeyboardInterrupt):
        device.Device.stop_kernels(dev)
    assert flags == [1, 1]  # until they have returned
    assert not dev.stop[0]


def test_after_an_interrupt_the_main_stream_waits_for_the_classes_that_were_launched(monkeypatch):
    """The next run takes the memory in which their kernels may still work."""
    dev, tests = HostDevice({}), schur.SchurTests(2, 1 << 18)
    dev.stream, dev.side, launched = mock.Mock(), [mock.Mock() for _ in range(6)], []

    def launch(*args):
        launched.append(args[-1])
        if len(launched) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(schur, "_launch_class", launch)
    monkeypatch.setattr(tests, "_decide", lambda level, outlook: (None, [1, 2, 3]))
    with pytest.raises(KeyboardInterrupt):
        tests.launch_walk(dev, None, SimpleNamespace(level=2), SimpleNamespace(sets=1.0), None)
    assert launched == dev.side[:2]
    waited = [call.args[0] for call in dev.stream.wait_event.call_args_list]
    assert {stream.record.return_value for stream in launched} <= set(waited)
