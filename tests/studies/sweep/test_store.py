"""Nothing is lost, nothing is done twice: resumed, extended, killed in a commit, locked, of another version."""

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.studies.sweep.conftest import MakeSweep, pretending
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import count_finished, open_results, query, run_sweep
from topoopt.studies.sweep import run as store

MANY = "models: dlrm\nservers: [8, 16]\nfabrics: [topoopt, torus]\nseeds: [0, 1, 2]\n"


def test_an_interrupted_run_keeps_what_it_had_and_the_next_does_the_rest(
    sweep: MakeSweep, tmp_path: Path
) -> None:
    made, file = sweep(MANY), tmp_path / "r.duckdb"
    crew, first = pretending(most=5)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(made, file, crew)
    assert count_finished(made, file) == 5
    crew, second = pretending()
    done = run_sweep(made, file, crew)
    assert (done.points, done.found, done.computed) == (12, 5, 7)
    assert sorted(first + second) == sorted(point.digest for point in made.points)
    crew, third = pretending()
    assert run_sweep(made, file, crew).computed == 0
    assert third == []


def test_more_values_in_the_sweep_add_only_their_points(sweep: MakeSweep, tmp_path: Path) -> None:
    file = tmp_path / "r.duckdb"
    crew, first = pretending()
    run_sweep(sweep(MANY), file, crew)
    longer = sweep(MANY.replace("[8, 16]", "[8, 16, 32]"))
    crew, added = pretending()
    done = run_sweep(longer, file, crew)
    assert (done.points, done.found, done.computed, done.others) == (18, 12, 6, 0)
    assert not set(first) & set(added)
    crew, _ = pretending()
    other = run_sweep(sweep("models: bert\nservers: 8\n"), file, crew)
    assert (other.computed, other.others) == (1, 18), "any sweep may go into the file"


def test_what_has_failed_is_tried_again_and_what_is_infeasible_is_not(
    sweep: MakeSweep, tmp_path: Path
) -> None:
    made = sweep(MANY)
    for status, again in (("failed", 12), ("infeasible", 0)):
        file = tmp_path / f"{status}.duckdb"
        crew, _ = pretending(status, error="too large")
        assert run_sweep(made, file, crew).by_status == {status: 12}
        crew, asked = pretending()
        run_sweep(made, file, crew)
        assert len(asked) == again
        with open_results(file) as results:
            assert query(results, "SELECT count(*), count(DISTINCT digest) FROM points").rows == ((12, 12),)


def test_a_log_that_is_cut_anywhere_opens_with_the_whole_transactions_before(
    sweep: MakeSweep, tmp_path: Path
) -> None:
    """As after a power cut in the middle of writing: a file and a log that were copied while they were open."""
    made, file = sweep(MANY.replace("[0, 1, 2]", "0")), tmp_path / "r.duckdb"
    crew, _ = pretending()
    sizes = []

    def note(stage: str, done: int, total: int) -> None:
        if not done:
            assert (total, "compile kernels" in stage) == (4, True)
            return
        sizes.append(Path(f"{file}.wal").stat().st_size)
        shutil.copy(file, tmp_path / "copy.duckdb")
        shutil.copy(f"{file}.wal", tmp_path / "copy.wal")

    run_sweep(made, file, crew, on_progress=note)
    log = (tmp_path / "copy.wal").read_bytes()
    for cut in sorted({*range(0, len(log), len(log) // 4), *sizes, *(size - 1 for size in sizes)}):
        torn = tmp_path / "torn" / "r.duckdb"
        shutil.rmtree(torn.parent, ignore_errors=True)
        torn.parent.mkdir()
        shutil.copy(tmp_path / "copy.duckdb", torn)
        Path(f"{torn}.wal").write_bytes(log[:cut])
        whole = sum(size <= cut for size in sizes)
        assert count_finished(made, torn) == whole, cut
    crew, asked = pretending()
    assert run_sweep(made, torn, crew).computed == len(asked) == 4 - whole


def test_a_second_writer_is_refused_and_a_reader_sees_what_is_there(sweep: MakeSweep, tmp_path: Path) -> None:
    made, file = sweep(MANY), tmp_path / "r.duckdb"
    crew, _ = pretending(most=5)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(made, file, crew)
    holding = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        crew, asked = pretending()
        with pytest.raises(
            InvalidInput, match=f"r.duckdb: process {other.pid} writes it; wait until .*out=FILE"
        ):
            run_sweep(made, file, crew)
        assert asked == []
        with open_results(file) as results:
            assert results.live
            assert query(results, "SELECT count(*) FROM points").rows == ((5,),)
            with pytest.raises(InvalidInput, match="only read here"):
                query(results, "DELETE FROM points")
        other.communicate("")


def test_results_of_another_version_are_not_mixed_unless_asked(
    sweep: MakeSweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.duckdb"
    with monkeypatch.context() as older:
        older.setattr(store, "__version__", "0.0.9")
        run_sweep(sweep(MANY), file, pretending()[0])
    longer = sweep(MANY.replace("[8, 16]", "[8, 16, 32]"))
    with pytest.raises(
        InvalidInput, match=r"r.duckdb: holds results of topoopt 0.0.9, .*, or say mix_versions"
    ):
        run_sweep(longer, file, pretending()[0])
    assert run_sweep(longer, file, pretending()[0], mix_versions=True).computed == 6
    with open_results(file) as results:
        assert len(query(results, "SELECT DISTINCT version FROM points").rows) == 2


@pytest.mark.parametrize("kind", ["text", "empty", "database", "folder", "damaged"])
def test_a_file_that_is_none_of_a_sweep_is_left_alone(sweep: MakeSweep, tmp_path: Path, kind: str) -> None:
    made, file = sweep(MANY), tmp_path / "r.duckdb"
    message = "is no DuckDB file"
    if kind == "database":
        with closing(duckdb.connect(str(file))) as connection:
            connection.execute("CREATE TABLE points (a INTEGER)")
        message = "is a DuckDB file, but no results of a sweep"
    elif kind == "folder":
        file.mkdir()
        message = "cannot be opened"
    elif kind == "damaged":

        def note(stage: str, done: int, total: int) -> None:
            if done:
                shutil.copy(f"{file}.wal", tmp_path / "log")

        run_sweep(made, file, pretending()[0], on_progress=note)
        log = bytearray((tmp_path / "log").read_bytes())
        log[len(log) // 2] ^= 0x5A
        file.unlink()
        with pytest.raises(KeyboardInterrupt):
            run_sweep(made, file, pretending(most=0)[0])
        Path(f"{file}.wal").write_bytes(log)
        message = "the log beside it is damaged; move r.duckdb.wal away"
    else:
        file.write_text("hello" if kind == "text" else "")
    with pytest.raises(InvalidInput, match=f"r.duckdb: .*{message}") as caught:
        run_sweep(made, file, pretending()[0])
    assert "\n" not in str(caught.value)
