"""The device of a thread, and the bytes that reach it, without a GPU."""

import gc
import threading
import time
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from common import refused
from gpu_on_host import HostDevice

from pycupc.engines.gpu import device, schur, transfers
from pycupc.engines.protocol import EngineError


@pytest.fixture
def opened(monkeypatch):
    """The devices that have been started; device 7 fails to."""
    started = []

    def start(index):
        if index == 7:
            raise RuntimeError("no memory")
        started.append(SimpleNamespace(index=index))
        return started[-1]

    monkeypatch.setattr(device, "Device", start)
    monkeypatch.setattr(device, "gpu_works", lambda index: (True, ""))
    monkeypatch.setattr(device, "_of_thread", threading.local())
    device._OwnedDevice.free.clear()
    yield started
    vars(device._of_thread).clear()
    gc.collect()
    device._OwnedDevice.free.clear()


def in_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    gc.collect()
    return found[0]


def test_a_thread_keeps_its_device(opened):
    assert device.open_device(0) is device.open_device(0)
    assert device.open_device(1) is not device.open_device(0)
    assert len(opened) == 2


def test_threads_at_the_same_time_have_devices_of_their_own(opened):
    mine = device.open_device(0)
    assert in_thread(lambda: device.open_device(0)) is not mine


def test_a_thread_takes_over_the_device_of_one_that_has_ended(opened):
    first = in_thread(lambda: device.open_device(0))
    assert in_thread(lambda: device.open_device(0)) is first
    assert device.open_device(0) is first
    assert len(opened) == 1


def test_a_borrowed_device_is_nobody_elses_until_it_is_given_back(opened):
    mine = device.open_device(0)
    with device.borrowed_device(0) as borrowed:
        assert borrowed is not mine
        with device.borrowed_device(0) as other:
            assert other is not borrowed
    with device.borrowed_device(0) as again:
        assert again in (borrowed, other)


def test_a_device_that_fails_to_start(opened):
    refused("CUDA device 7 failed to start: no memory", device.open_device, 7, error=EngineError)
    refused("device 7", device.open_device, 7, error=EngineError)


@pytest.mark.parametrize("megabytes", [0.001, 4, 5.1, 11.3, 64 + 1e-5, 130])
def test_every_byte_is_uploaded(megabytes):
    some = np.random.default_rng(0).integers(0, 256, 2**20 + 7, dtype=np.uint8)  # no chunk is a multiple of it
    host = np.resize(some, int(megabytes * 2**20))
    dev = HostDevice({})
    out = dev.cp.empty(host.shape, dtype=np.uint8)
    dev.transfers.upload(host, out)
    np.testing.assert_array_equal(out, host)


def test_an_upload_while_another_one_is_under_way():
    dev, rng = HostDevice({}), np.random.default_rng(1)
    arrays = [rng.integers(0, 256, n << 20, dtype=np.uint8) for n in (30, 9)]
    outs = [dev.cp.empty(array.shape, dtype=np.uint8) for array in arrays]
    with dev.transfers.uploading(arrays[0], outs[0]):
        dev.transfers.upload(arrays[1], outs[1])
    for array, out in zip(arrays, outs, strict=True):
        np.testing.assert_array_equal(out, array)


def test_an_upload_that_fails_leaves_no_thread_reading_the_source(monkeypatch):
    dev, reading = HostDevice({}), []
    memmove = transfers.ctypes.memmove

    def slow(to, source, nbytes):
        reading.append(1)
        time.sleep(0.02)
        memmove(to, source, nbytes)
        reading.pop()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(transfers, "ctypes", SimpleNamespace(memmove=slow))
    dev.transfers._copy = fail
    host = np.zeros(40 << 20, dtype=np.uint8)
    with pytest.raises(KeyboardInterrupt):
        dev.transfers.upload(host, dev.cp.empty(host.shape, dtype=np.uint8))
    assert not reading


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
