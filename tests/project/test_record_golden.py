"""The recorder of pcalg's answers: does what is stored come out again from the pcalg that is installed here?"""

import numpy as np
import pytest
import record_golden
from common import GOLDEN_FOLDER

GOLDEN = GOLDEN_FOLDER

#: Small cases that together hold every field and every variant.
CASES = ("er_p10_n100", "fixed_gaps", "fixed_edges", "constant_column_NAdelete_False", "mmax_2", "tiny_n9", "identity")


def test_differences_are_seen():
    case = dict(np.load(GOLDEN / "er_p10_n100.npz"))
    assert record_golden.differences(case, case) == []
    changed = {**case, "skeleton": ~case["skeleton"], "pMax": case["pMax"] * (1 + 1e-4), "pcalg_version": "x"}
    assert record_golden.differences(case, changed) == ["pMax", "skeleton"]
    without = {key: value for key, value in case.items() if key != "cpdag_relaxed"}
    assert record_golden.differences(case, without) == ["cpdag_relaxed: only in the stored answer"]


@pytest.mark.r
def test_recording_again_gives_what_is_stored(capsys, rscript):
    assert record_golden.main(["--check", *CASES]) == 0
    assert capsys.readouterr().out.count(": equal") == len(CASES)
