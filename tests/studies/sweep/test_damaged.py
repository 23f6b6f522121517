"""A results file that is damaged is one line, wherever the damage is."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest

import topoopt
from tests.studies.sweep.conftest import MakeSweep, here, pretending
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import axes_of, count_finished, open_results, query, run, run_sweep


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


SHAPES: dict[str, tuple[Callable[[str], str], str]] = {
    "a column less": (lambda sql: sql.replace("mfu DOUBLE, ", ""), "lacks points.mfu"),
    "a column more": (lambda sql: sql.replace("mfu DOUBLE", "mfu DOUBLE, more INTEGER"), "has points.more"),
    "another kind": (
        lambda sql: sql.replace("cost_usd DOUBLE", "cost_usd VARCHAR"),
        "its columns are of other kinds",
    ),
    "no key": (lambda sql: sql.replace(" PRIMARY KEY", ""), "its columns are of other kinds"),
    "a table less": (lambda sql: sql.replace("TABLE attempts", "TABLE tries"), "lacks attempts.digest"),
}


@pytest.mark.parametrize(("change", "how"), SHAPES.values(), ids=SHAPES)
def test_results_of_another_shape_are_named_as_such(
    sweep: MakeSweep, tmp_path: Path, change: Callable[[str], str], how: str
) -> None:
    """As another version of topoopt, or somebody's own program, writes them."""
    file = tmp_path / "r.duckdb"
    with closing(duckdb.connect(str(file))) as connection:
        for statement in run._STATEMENTS:
            connection.execute(change(statement))
        connection.execute("INSERT INTO about VALUES (?)", [run.FORMAT])
    made, said = (
        sweep("models: dlrm\nservers: 8\n"),
        re.escape(f"holds results of another shape ({how}), as another"),
    )
    for read in (
        lambda: topoopt.results(file),
        lambda: run_sweep(made, file, pretending()[0]),
        lambda: count_finished(made, file),
        lambda: topoopt.report(file, tmp_path / "page.html"),
    ):
        with pytest.raises(InvalidInput, match=said) as refused:
            read()
        assert "\n" not in str(refused.value)
    with pytest.raises(
        InvalidInput, match=r"is what a sweep has stored; topoopt results and report take it$"
    ):
        topoopt.studio(str(file))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root, for a small disk")
def test_a_full_disk_loses_nothing(sweep: MakeSweep, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        file, made = small / "r.duckdb", sweep("models: dlrm\nservers: [8, 16]\nfabrics: [topoopt, torus]\n")
        run_sweep(sweep("models: dlrm\nservers: 8\nfabrics: topoopt\n"), file, pretending()[0])
        with (small / "full").open("wb", buffering=0) as full, suppress(OSError):
            while True:
                full.write(b"0" * 4096)
        for place in (file, small / "new.duckdb"):
            with pytest.raises(InvalidInput, match=r"duckdb: cannot be written: No space left on device"):
                run_sweep(made, place, pretending()[0])
        assert {one.name for one in small.iterdir()} <= {"r.duckdb", "r.duckdb.wal", "full"}
        with (small / "full").open("r+b") as full:  # room for the log of a new store, and not for the store
            full.truncate((small / "full").stat().st_size - 0x10000)
        with pytest.raises(InvalidInput, match=r"cannot be written: No space left on device"):
            run_sweep(made, small / "new.duckdb", pretending()[0])
        assert not (small / "new.duckdb").exists()
        (small / "full").unlink()
        assert run_sweep(made, file, pretending()[0]).found == 1
    finally:
        subprocess.run(["umount", small], check=True)


def test_few_open_files_are_one_line(sweep: MakeSweep, tmp_path: Path) -> None:
    sweep("models: dlrm\nservers: 8\nfabrics: ideal-switch\nbudget: 20\n")
    script = f"""
import resource, sys
from topoopt.frontends.cli import main
import topoopt.studies.sweep
import os
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 3, 4096))
sys.exit(main(["sweep", {str(tmp_path / "sweep.yaml")!r}, "--out", {str(tmp_path / "few.duckdb")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Too many open files" in done.stderr
