"""A sweep that is killed again and again: at the end every point is there once, and none was computed twice."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.studies.sweep.conftest import MakeSweep, here
from topoopt.studies.sweep import open_results, query, run_sweep

SMALL = "models: vgg16\nservers: 4\ndegree: 2\nbudget: 5\nfabrics: [topoopt, ideal-switch, torus]\n"
LARGE = """
models: vgg16
servers: [4, 5, 6, 7, 8, 9]
degree: 2
bandwidth: [25 Gbps, 100 Gbps]
budget: 30
fabrics: [topoopt, ideal-switch, torus]
"""
LONGEST_S = 600.0


def finished(file: Path) -> set[tuple[object, ...]]:
    if not file.exists():
        return set()
    with open_results(file) as results:
        return set(query(results, "SELECT digest, run FROM points").rows)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "kills", "processes"), [(SMALL, 1, 1), (LARGE, 3, 2)], ids=["once", "again and again"]
)
def test_a_sweep_killed_at_random_moments_loses_and_repeats_nothing(
    sweep: MakeSweep, tmp_path: Path, text: str, kills: int, processes: int
) -> None:
    made, file = sweep(text), tmp_path / "sweep.duckdb"
    points = len(made.points)
    flags = ("--processes", str(processes))
    command = [sys.executable, "-m", "topoopt", "sweep", str(tmp_path / "sweep.yaml"), *flags]
    draw, killed, before = random.Random(7), 0, finished(file)
    began = time.monotonic()
    while killed < kills and len(before) < points and time.monotonic() - began < LONGEST_S:
        at_least = len(before) + draw.randrange(1, min(points, 5))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len(finished(file)) < at_least:
                time.sleep(0.1 + draw.random() * 0.1)  # to look costs as much as a point
            time.sleep(draw.random() * 0.05)  # anywhere between two answers, or inside a transaction
            process.kill()
        killed += process.returncode == -9
        now = finished(file)
        assert before <= now, "what was finished stays, as it was written by the run that computed it"
        before = now
    assert killed
    run_sweep(made, file, here)
    assert before <= finished(file)
    with open_results(file) as results:
        rows = query(results, "SELECT digest, status FROM points").rows
        assert sorted(rows) == sorted((point.digest, "ok") for point in made.points)
        repeated = "SELECT count(*) FROM attempts JOIN points USING (digest) WHERE attempts.run > points.run"
        assert query(results, repeated).rows == ((0,),), "nothing was begun again that had been finished"
        begun = "SELECT count(*) FROM points SEMI JOIN attempts USING (digest, run)"
        assert query(results, begun).rows == ((points,),)


def figures(file: Path) -> list[tuple[object, ...]]:
    with open_results(file) as results:
        return list(query(results, "SELECT * EXCLUDE (run, cpu_s) FROM points ORDER BY digest").rows)


@pytest.mark.skipif(not hasattr(os, "kill"), reason="there are no signals here")
def test_processes_give_the_rows_that_one_process_gives(sweep: MakeSweep, tmp_path: Path) -> None:
    from topoopt.studies.sweep import processes  # noqa: PLC0415

    made = sweep(
        "models: vgg16\nservers: 4\ndegree: 2\nbudget: 20\nfabrics: [topoopt, torus]\nseeds: [0, 1]\n"
    )
    run_sweep(made, tmp_path / "here.duckdb", here)
    run_sweep(made, tmp_path / "two.duckdb", processes(2))
    assert figures(tmp_path / "here.duckdb") == figures(tmp_path / "two.duckdb")
    assert len(figures(tmp_path / "two.duckdb")) == 4
