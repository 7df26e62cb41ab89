"""Users without the right to write everywhere."""

import os
import shutil

import pytest


def such_a_user() -> list[str]:
    """What runs a command without the right to write everywhere, which root has."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("run by root, and there is no setpriv to give its rights away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
