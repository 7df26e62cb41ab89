"""The bytes that reach a device, without a GPU."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from gpu_on_host import HostDevice

from pycupc.engines.gpu import transfers


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
