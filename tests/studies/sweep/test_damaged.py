"""A results file that is damaged is one line, wherever the damage is."""

from pathlib import Path

import pytest

from tests.studies.sweep.conftest import MakeSweep, here
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import axes_of, open_results, query, run_sweep


def test_every_damage_is_one_line(sweep: MakeSweep, tmp_path: Path) -> None:
    made = sweep("models: vgg16\nservers: 4\ndegree: 2\nbudget: 5\nfabrics: ideal-switch\n")
    run_sweep(made, tmp_path / "whole.duckdb", here)
    whole, refused = (tmp_path / "whole.duckdb").read_bytes(), list[str]()
    for place in range(0, len(whole), len(whole) // 10):
        file = tmp_path / "damaged.duckdb"
        file.write_bytes(
            whole[:place] + bytes(byte ^ 255 for byte in whole[place : place + 64]) + whole[place + 64 :]
        )
        try:
            with open_results(file) as results:
                axes_of(results)
                query(results, "SELECT * FROM points")
        except InvalidInput as error:
            refused.append(str(error))
    assert refused
    assert all(message.startswith(str(tmp_path / "damaged.duckdb")) for message in refused)
    with pytest.raises(InvalidInput, match="damaged"), open_results(cut(tmp_path, whole)) as results:
        axes_of(results)


def cut(folder: Path, whole: bytes) -> Path:
    (folder / "cut.duckdb").write_bytes(whole[: len(whole) // 2])
    return folder / "cut.duckdb"


def test_another_kind_of_file_is_no_results_file(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}\n")
    with pytest.raises(InvalidInput, match=r"plan\.json: is no DuckDB file; name another file"):
        open_results(tmp_path / "plan.json").__enter__()
