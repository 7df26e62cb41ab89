"""A result as a file, whole or not at all, or as the bytes that an object of R keeps."""

import os

import explored_graphs
import numpy as np
import pytest
from common import FILES, refused, small_fit

import pycupc
from pycupc import PcAlgo, SuffStat
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.results import serialisation


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_saved_files_are_as_private_as_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        pycupc.pc({"C": np.eye(3), "n": 50}).save(tmp_path / "fit.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "fit.npz").stat().st_mode & 0o777 == mode


def test_a_result_of_an_asymmetric_test_is_saved_and_loaded(tmp_path):
    """Side B separates at level 0: its empty sets are stored cells, and removals as well."""
    fit = pycupc.pc(None, lambda x, y, S, _: float((x == 3 and not S) or (x < y == 2 and len(S) == 1)), alpha=0.1, p=4)
    assert fit.removals.level.tolist() == [0, 0, 0, 1, 1]
    assert fit.removals.x.tolist() == [3, 3, 3, 0, 1]
    fit.save(tmp_path / "fit.npz")
    assert pycupc.PcAlgo.load(tmp_path / "fit.npz") == fit


def test_the_data_of_a_result_are_not_turned_into_a_matrix(tmp_path):
    rng = np.random.default_rng(5)
    data = SuffStat.from_data(np.cumsum(rng.standard_normal((150, 30)), axis=1))
    fit = pycupc.pc(data, alpha=0.01, engine="cpu", engine_options={"correlations": "rows"})
    fit.save(tmp_path / "r.npz", evidence=False)
    fit.why(0, 5)
    loaded = PcAlgo.load(tmp_path / "r.npz", suffStat=data)
    np.testing.assert_array_equal(loaded.removals.r, fit.removals.r)
    assert str(loaded.why(0, 5)) == str(fit.why(0, 5))
    assert not data.has_C


def test_a_file_of_another_class_names_the_classes(tmp_path):
    data = pycupc.data.load_example("cell_nuclei").iloc[:, :3]
    pycupc.fci(data).save(tmp_path / "pag.npz")
    with pytest.raises(
        ValueError, match=r"format is 'pycupc-pag-1', .* read the file with `load` of the class \(PcAlgo, "
    ):
        pycupc.PcAlgo.load(tmp_path / "pag.npz")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_the_bytes_for_r_hold_everything_but_p_max(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((60, 9)) @ rng.standard_normal((9, 9))
    codes = (data > 0).astype(int)
    fits = [pycupc.pc(data, alpha=0.2, **options) for options in ({}, {"maj_rule": True}, {"fixedGaps": [("1", "2")]})]
    fits += [function(data, alpha=0.2) for function in (pycupc.skeleton, pycupc.fci, pycupc.rfci)]
    binary = DiscreteSuffStat(codes, [2] * 9, adaptDF=False)
    fits += [function(binary, disCItest, alpha=0.2) for function in (pycupc.pc, pycupc.fci)]
    for fit in fits:
        back = type(fit).from_bytes(fit.to_bytes(), fit.pMax)
        assert back == fit
        assert (back.trace, back.notes, back.call, back.found_sepset) == (
            fit.trace,
            fit.notes,
            fit.call,
            fit.found_sepset,
        )
        assert [str(back.why(0, y)) for y in range(1, fit.p)] == [str(fit.why(0, y)) for y in range(1, fit.p)]
        np.testing.assert_array_equal(back.edge_attributes()["pMax"], fit.edge_attributes()["pMax"])


def test_the_bytes_for_r_are_equal_for_runs_that_are_equal(monkeypatch):
    """Seconds and doubtful tests, which vary, are left out; correlations of too many pairs, too; p-values of the levels
    are not computed for them.
    """
    data = explored_graphs.table(9)
    fits = [pycupc.pc(data, alpha=0.01, numCores=cores) for cores in (1, 1, 2)]
    assert len({fit.to_bytes(p_values=False) for fit in fits}) == 1
    assert "edges" not in fits[0].p_values.__dict__
    assert len({fit.to_bytes() for fit in fits}) == 1
    fit = fits[0]
    whole = fit.to_bytes()
    monkeypatch.setattr(serialisation, "MOST_NUMBERS", len(fit.removals) - 1)
    without = fit.to_bytes()
    assert len(without) < len(whole) - 8 * 45
    back = PcAlgo.from_bytes(without, fit.pMax)
    assert (back, back.p_values.known, back.removals.r_known) == (fit, None, False)
    known = PcAlgo.from_bytes(without, fit.pMax, SuffStat.from_data(data).correlations)
    assert [str(known.why(0, y)) for y in range(1, 9)] == [str(fit.why(0, y)) for y in range(1, 9)]


def test_the_bytes_for_r_compute_nothing_that_is_not_wanted():
    data = np.random.default_rng(5).standard_normal((150, 30))
    fit = pycupc.pc(data, alpha=0.05, engine="cpu", engine_options={"correlations": "rows"})
    without = fit.to_bytes(p_values=False)
    assert not fit.p_values.known.has_dense
    assert len(fit.to_bytes()) > len(without) + 8 * 30 * 31 // 2


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"sizes": [["edge_low", "i", 9]]}\n', "half", "version", "label"])
def test_bytes_that_are_damaged_or_of_another_version_are_refused(damage):
    fit = pycupc.pc(explored_graphs.table(9), alpha=0.01)
    data = fit.to_bytes()
    changed = {"half": data[: len(data) // 2], "version": data.replace(b"result-4", b"result-5")}
    changed["label"] = data.replace(b'"labels": [', b'"labels": [3, ')
    refused(
        "the bytes of the result are damaged, or of another version: .*",
        PcAlgo.from_bytes,
        changed.get(damage, damage),
        fit.pMax,
    )


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_older_file_stays_if_the_new_one_cannot_be_written(tmp_path, monkeypatch, error):
    def fails(*_, **__):
        raise error

    _, fit = small_fit()
    fit.save(tmp_path / "fit.npz")
    before = (tmp_path / "fit.npz").read_bytes()
    for writes, name in ((np.lib.format, "write_array"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(writes, name, fails)
            with pytest.raises(type(error)):
                fit.save(tmp_path / "fit.npz")
        assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]
        assert (tmp_path / "fit.npz").read_bytes() == before


def test_large_evidence_is_saved_only_when_asked_for(nuclei_fit, nuclei, tmp_path, monkeypatch):
    monkeypatch.setattr(serialisation, "MOST_NUMBERS", 100)
    path = tmp_path / "fit.npz"
    nuclei_fit.save(path)
    with np.load(path) as file:
        assert {"C", "removed_r", "pMax"}.isdisjoint(file.files)
        assert file["sepset_members"].dtype == np.uint8  # the smallest that holds 30 variables
    sparse = pycupc.PcAlgo.load(path)
    assert sparse == nuclei_fit
    np.testing.assert_array_equal(sparse.edge_attributes()["pMax"], nuclei_fit.edge_attributes()["pMax"])
    x, y = (int(nuclei_fit.removals.x[5]), int(nuclei_fit.removals.y[5]))
    assert str(sparse.why(x, y)).startswith(str(nuclei_fit.why(x, y)).partition(", p = ")[0])
    assert np.isnan(sparse.p_values.at(x, y))
    with pytest.raises(ValueError, match=r"without its correlations; load it together with its data"):
        _ = sparse.pMax
    with pytest.raises(ValueError, match=r"saved without the partial correlations"):
        _ = sparse.removals.r

    again = pycupc.PcAlgo.load(path, suffStat=nuclei)
    np.testing.assert_array_equal(again.pMax, nuclei_fit.pMax)  # to the last bit: every r is the canonical formula's
    assert [str(again.why(0, y)) for y in range(1, 30)] == [str(nuclei_fit.why(0, y)) for y in range(1, 30)]
    comparison = pycupc.compare(sparse, nuclei_fit)
    assert comparison.equal  # in all that both know
    nuclei_fit.save(path, evidence=True)
    np.testing.assert_array_equal(pycupc.PcAlgo.load(path).pMax, nuclei_fit.pMax)


@pytest.mark.parametrize("method", [pycupc.pc, pycupc.rfci])
def test_other_data_of_the_same_size_are_refused(nuclei, tmp_path, method):
    fit = method(nuclei, alpha=0.01)
    fit.save(tmp_path / "fit.npz", evidence=False)
    others = np.random.default_rng(0).permuted(nuclei.rows, axis=0)
    for other in (others, {"C": np.corrcoef(others, rowvar=False), "n": len(others)}):
        with pytest.raises(ValueError, match=r"^suffStat must be the data of the result: .* larger"):
            type(fit).load(tmp_path / "fit.npz", suffStat=other)
    assert type(fit).load(tmp_path / "fit.npz", suffStat=nuclei) == fit


def test_a_loaded_result_can_be_saved_again(nuclei_fit, tmp_path):
    for name, evidence in {"one": False, "two": True}.items():
        nuclei_fit.save(tmp_path / f"{name}.npz", evidence=evidence)
        pycupc.PcAlgo.load(tmp_path / f"{name}.npz").save(tmp_path / "again.npz", evidence=evidence)
        assert pycupc.PcAlgo.load(tmp_path / "again.npz") == nuclei_fit
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / f"{name}.npz").read_bytes()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"C": np.eye(5), "n": 569}, "30 variables and n = 569, got 5 variables and n = 569"),
        ({"C": np.eye(30), "n": 5}, "got 30 variables and n = 5"),
        (pycupc.SuffStat(np.eye(30), 569, [f"V{k}" for k in range(30)]), "the labels differ"),
    ],
)
def test_data_of_something_else_are_refused(nuclei_fit, tmp_path, other, words):
    nuclei_fit.save(tmp_path / "fit.npz")
    refused(f"^suffStat must .*{words}", pycupc.PcAlgo.load, tmp_path / "fit.npz", suffStat=other)


@pytest.mark.parametrize("number", [2, 3])
def test_files_of_older_formats_are_refused_with_the_remedy(number):
    """files/format2.npz and format3.npz were written by 0.1.0."""
    words = rf"its format is 'pycupc-result-{number}', this version reads 'pycupc-result-4'; run the analysis again, or"
    refused(words, pycupc.PcAlgo.load, FILES / f"format{number}.npz")
