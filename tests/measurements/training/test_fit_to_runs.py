"""Which runs of a table are fitted, and what is said where there are too few, or no such start."""

from dataclasses import replace
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training import FitRules, fit_to_runs
from topoopt.transformers import find_calibration

HEAD = "model,gpus,gpu,gbs,iter_time_s\n"


def written(folder: Path, *gpus: str) -> str:
    rows = (f"llama3-8b,8,{gpu},64,{5 + place}" for place, gpu in enumerate(gpus))
    (folder / "runs.csv").write_text(HEAD + "\n".join(rows) + "\n")
    return str(folder / "runs.csv")


def test_too_few_runs_on_each_accelerator_are_counted_by_accelerator(tmp_path: Path) -> None:
    path = written(tmp_path, "H100", "H100", "B200", "GB200")
    with pytest.raises(InvalidInput) as caught:
        fit_to_runs(path, FitRules())
    assert str(caught.value).endswith(
        "runs.csv: needs 3 runs with a time on one accelerator or its relatives; it has 1 of B200-SXM, 1 of "
        "GB200-NVL72, 2 of H100-SXM5-80GB"
    )


def test_an_unknown_start_is_a_mistake_in_the_start(tmp_path: Path) -> None:
    path = written(tmp_path, "H100", "H100", "H100")
    with pytest.raises(InvalidInput, match=r'^start: .*unknown name "h1000"; did you mean h100'):
        fit_to_runs(path, FitRules(start="h1000"))


def test_a_constant_that_is_held_stays_and_the_file_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "H100", "H100", "H100")
    free = fit_to_runs(path, FitRules(strength=1.0)).calibration
    held = fit_to_runs(path, FitRules(strength=1.0, hold=("gemm_efficiency",))).calibration
    assert held.gemm_efficiency == find_calibration("h100").gemm_efficiency != free.gemm_efficiency
    assert held.provenance["held"] == "gemm_efficiency"


def test_an_unknown_constant_cannot_be_held() -> None:
    with pytest.raises(
        InvalidInput, match=r'^hold: unknown name "gem_efficiency"; did you mean gemm_efficiency'
    ):
        FitRules(hold=("gem_efficiency",))


def test_measured_collectives_of_the_accelerator_count(tmp_path: Path) -> None:
    """Half of the rate of the links; the rows of another accelerator have no say."""
    head = "collective,gpu,gpus_per_node,ranks,size_bytes,time_us,scale_up_gbytes_per_s\n"
    rows = [
        f"all_reduce,{gpu},8,8,{size},{size * share},450"
        for gpu, share in (("H100", 8e-6), ("B200", 1e-3))
        for size in (1e9, 2e9, 4e9)
    ]
    (tmp_path / "nccl.csv").write_text(head + "\n".join(rows) + "\n")
    path = written(tmp_path, "H100", "H100", "H100")
    rules = FitRules(("h100",), strength=1.0)
    free = fit_to_runs(path, rules).calibration
    with_them = fit_to_runs(path, replace(rules, collectives=str(tmp_path / "nccl.csv"))).calibration
    assert free.scale_up_efficiency > 0.8
    assert 0.4 < with_them.scale_up_efficiency < 0.7


def test_a_table_without_collectives_of_the_accelerator_is_an_error(tmp_path: Path) -> None:
    head = "collective,gpu,gpus_per_node,ranks,size_bytes,time_us\n"
    (tmp_path / "nccl.csv").write_text(head + "all_reduce,B200,8,8,1e9,1000\n")
    path = written(tmp_path, "H100", "H100", "H100")
    with pytest.raises(InvalidInput, match=r"nccl\.csv: no collective of H100-SXM5-80GB; it has B200-SXM$"):
        fit_to_runs(path, FitRules(("h100",), collectives=str(tmp_path / "nccl.csv")))


def test_a_row_of_collectives_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    head = "collective,gpu,gpus_per_node,ranks,size_bytes,time_us\n"
    (tmp_path / "nccl.csv").write_text(head + "all_reduce,H100,8,8,1e9,0\n")
    path = written(tmp_path, "H100", "H100", "H100")
    rules = FitRules(("h100",), strength=1.0, collectives=str(tmp_path / "nccl.csv"))
    with pytest.raises(
        InvalidInput, match=r"nccl.csv: line 2: time_us: expected a positive number, got 0; correct"
    ):
        fit_to_runs(path, rules)
