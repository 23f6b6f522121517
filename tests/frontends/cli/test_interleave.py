"""``topoopt interleave``: when each of several jobs on a link begins, as text, JSON and a page; or one line."""

import json
from pathlib import Path
from typing import Any

import pytest

import topoopt as door
from tests.frontends.cli.conftest import Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line

SHORT: dict[str, Any] = {"name": "short", "iteration_time_ms": 40, "phases": [[0, 10, 50]]}
LONG: dict[str, Any] = {"name": "long", "iteration_time_ms": 60, "phases": [[0, 10, 50]]}
SHOWN = """
2 jobs on a link of 50 Gb/s
  score     1 rotated, 0.9167 as they come
  together  20.83 Gb/s on average, at most 50 Gb/s rotated, 100 Gb/s as they come
  circle    120 ms around, an angle each 1.667 ms
  solver    fft

Jobs
 job     iteration   sends   at most   copies   rotation   time-shift   leeway
───────────────────────────────────────────────────────────────────────────────
 short       40 ms   25.0%   50 Gb/s        3         0°          0 s     ±0 s
 long        60 ms   16.7%   50 Gb/s        2        30°        10 ms     ±0 s
"""


def written(folder: Path, **changed: Any) -> str:
    """Write a job file and return its name."""
    job = {**SHORT, **changed}
    path = folder / f"{job['name']}.json"
    path.write_text(json.dumps(job))
    return str(path)


@pytest.fixture
def jobs(tmp_path: Path) -> tuple[str, str]:
    return written(tmp_path), written(tmp_path, **LONG)


def test_what_is_shown(topoopt: Topoopt, jobs: tuple[str, str]) -> None:
    ran = topoopt("interleave", *jobs, "--capacity", "50Gbps")
    assert ran.code == 0
    assert [line.rstrip() for line in ran.out.splitlines()] == SHOWN.splitlines()


def test_json_has_the_keys_that_are_promised_first(topoopt: Topoopt, jobs: tuple[str, str]) -> None:
    answer = json.loads(topoopt("interleave", *jobs, "--capacity", "50Gbps", "--json").out)
    assert list(answer)[:5] == ["score", "unrotated_score", "rotations_deg", "time_shifts_s", "demand"]
    assert answer["score"] == 1.0
    assert answer["unrotated_score"] == pytest.approx(11 / 12)
    assert answer["rotations_deg"] == [0.0, 30.0]
    assert answer["time_shifts_s"] == pytest.approx([0.0, 0.010])
    assert len(answer["demand"]) == 72
    assert max(answer["demand"]) == 50e9
    assert answer == door.interleave(jobs, "50Gbps").to_json()


@pytest.mark.parametrize("solver", ["fft", "grid", "descent", "milp"])
def test_a_solver_can_be_forced(topoopt: Topoopt, jobs: tuple[str, str], solver: str) -> None:
    words = ("--capacity", "50Gbps", "--step", "2", "--solver", solver, "--json")
    answer = json.loads(topoopt("interleave", *jobs, *words).out)
    assert (answer["solver"], answer["score"], answer["angles"]) == (solver, 1.0, 180)


def test_where_rotation_cannot_help_the_nearest_iteration_time_is_named(
    topoopt: Topoopt, tmp_path: Path
) -> None:
    jobs = written(tmp_path), written(tmp_path, **{**LONG, "iteration_time_ms": 62})
    ran = topoopt("interleave", *jobs, "--capacity", "50Gbps")
    said = " ".join(ran.out.split())
    assert "! rotation cannot help" in said
    assert "nearest compatible iteration time: job long at 60 ms, 2 ms shorter" in said
    nearest = json.loads(topoopt("interleave", *jobs, "--capacity", "50Gbps", "--json").out)["nearest"]
    assert {row["job"]: row["iteration_time_s"] for row in nearest} == pytest.approx(
        {"long": 0.060, "short": 0.031}
    )


def test_a_page_and_figures_have_the_circles(topoopt: Topoopt, jobs: tuple[str, str], tmp_path: Path) -> None:
    page, figures = tmp_path / "shared.html", tmp_path / "figures"
    ran = topoopt(
        "interleave", *jobs, "--capacity", "50Gbps", "--report", str(page), "--figures", str(figures)
    )
    assert ran.code == 0
    assert "circles_before" in page.read_text()
    names = {f"circles_{when}.{suffix}" for when in ("before", "after") for suffix in ("png", "svg", "pdf")}
    assert {path.name for path in figures.iterdir()} == names


@pytest.mark.parametrize(
    ("job", "words", "said"),
    [
        ({"phases": [[0, 10, 50], [5, 10, 20]]}, (), "job short: phase at 0 s ends after 10 ms"),
        (
            {"phases": [[0, 41, 50]]},
            (),
            "job short: phase at 0 s: lasts 41 ms, longer than the iteration of 40 ms",
        ),
        ({"phases": [[-1, 10, 50]]}, (), "job short: phase at -0.001 s: has to start within the iteration"),
        (
            {"phases": [[0, -10, 50]]},
            (),
            "job short: phase at 0 s: duration -0.01 s: expected a finite time > 0",
        ),
        ({"iteration_time_ms": -40}, (), "job short: iteration time -0.04 s: expected a finite time > 0"),
        (
            {},
            ("--capacity", "0Gbps"),
            '--capacity: must be positive, got "0Gbps"; give that of the link of job short and long, such',
        ),
        (
            {},
            ("--capacity", "1Gbps"),
            "--capacity 1 Gb/s: job short sends 12.5 Gb/s on average, so its iterations of 40 ms do not fit",
        ),
        ({}, ("--step", "0"), "--step: expected degrees from 0.001 to 180, got 0"),
        ({}, ("--quantum", "1s"), "job short: iteration time 40 ms is less than half of the quantum of 1 s"),
        ({}, ("--quantum", "0s"), "--quantum: expected a time > 0"),
        (
            {"iteration_time_ms": 999983},
            (),
            "job long: its 60 ms and the iteration times of short have no common",
        ),
        ({}, ("--solver", "gird"), '--solver: unknown name "gird"; did you mean grid'),
    ],
)
def test_a_mistake_is_one_line_with_the_job_and_the_remedy(
    topoopt: Topoopt, tmp_path: Path, job: dict[str, Any], words: tuple[str, ...], said: str
) -> None:
    jobs = written(tmp_path, **job), written(tmp_path, **LONG)
    capacity = () if "--capacity" in words else ("--capacity", "50Gbps")
    assert_one_line(topoopt("interleave", *jobs, *capacity, *words), said)


def test_nothing_is_written_after_a_mistake(topoopt: Topoopt, jobs: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = topoopt("interleave", *jobs, "--capacity", "50Gbps", "--solver", "best", "--report", str(page))
    assert_one_line(ran, "--solver: unknown name")
    assert not page.exists()
    assert_one_line(
        topoopt("interleave", *jobs, "--capacity", "50Gbps", "--report", jobs[0]), "is the file that is read"
    )
