"""The device of a thread, without a GPU."""

import gc
import threading
from types import SimpleNamespace

import pytest
from common import refused

from pycupc.engines.gpu import device
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
