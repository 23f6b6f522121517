"""Which runs of a table are fitted, and what is said where there are too few, or no such start."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training import FitRules, fit_to_runs

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
