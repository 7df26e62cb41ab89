"""A run of `stability` whose folder of resamples is looked into, and damaged files."""

import numpy as np
from damaged_files import corrupted

#: The arguments of the run beside the data.
CALL = {"n_resamples": 12, "alpha": (0.01, 0.1), "scheme": "complementary", "random_state": 9}


def files(folder):
    """The names of the files of finished resamples."""
    return sorted(path.name for path in folder.glob("resample-*.npz"))


def damage(path, times, read, expected):
    """Errors of `read` for a damaged file; without one it reads what is `expected`."""
    good, rng, refused = path.read_bytes(), np.random.default_rng(0), []
    for _ in range(times):
        path.write_bytes(corrupted(good, rng))
        try:
            assert read() == expected
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > times / 2
    return refused
