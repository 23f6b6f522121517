"""``topoopt mltcp simulate`` shows jobs on one link iteration by iteration, under MLTCP and other ways."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt

ASKED = ("mltcp", "simulate", "--communication", "0.4", "--period", "1s")
JOB = {"name": "a", "iteration_time_ms": 100, "phases": [[0, 40, 50]]}


def test_ways_iterations_and_theory_are_shown(topoopt: Topoopt) -> None:
    ran = topoopt(*ASKED)
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    rows = {line[0]: line[1:5] for line in lines if "shares" in line}
    assert rows["fair"] == ["1.38", "s", "1.38", "s"]
    assert ["1", "1.281", "s", "1.38", "s", "20", "ms", "1.281", "s"] in lines
    assert ["settles", "at", "1", "s,", "1.000", "×", "the", "period;", "simulated", "1.000", "×"] in lines
    assert ["converges", "within", "4", "iterations"] in lines


def test_json_has_the_stable_keys(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt(*ASKED, "--ways", "mltcp,fair", "--iterations", "6", "--json").out)
    assert list(answer) == [
        "simulator", "capacity_bps", "iterations", "offset", "aggressiveness", "learning_iterations", "noise", "seed",
        "jobs", "ways", "theory",
    ]  # fmt: skip
    times = answer["ways"][0]["jobs"][0]["iteration_time_s"]
    assert times[:4] == pytest.approx([1.2815, 1.0916, 1.0143, 1.0019], abs=1e-4)
    assert answer["ways"][1]["settled_slowdown"] == pytest.approx(1.38)


def test_packets_go_by_transports(topoopt: Topoopt) -> None:
    words = ("--communication", "0.4", "--period", "20ms", "--capacity", "10Gbps", "--iterations", "10")
    ran = topoopt(
        "mltcp", "simulate", *words, "--simulator", "packet", "--ways", "mltcp-reno,reno,cassini,ideal"
    )
    assert ran.code == 0
    for way, what in (
        ("mltcp-reno", "MLTCP over reno"),
        ("reno", "plain congestion control"),
        ("ideal", "reno, a link for each job"),
    ):
        assert any(
            line.split()[:1] == [way] and line.endswith(what)
            for line in map(str.rstrip, ran.out.splitlines())
        )
    assert "theory" in ran.out
    assert "an estimate" not in ran.out


def test_job_files_take_the_place_of_equal_jobs(topoopt: Topoopt) -> None:
    for name in "ab":
        Path(f"{name}.json").write_text(json.dumps({**JOB, "name": name}))
    answer = json.loads(topoopt("mltcp", "simulate", "a.json", "b.json", "--json").out)
    assert [job["job"] for job in answer["jobs"]] == ["a", "b"]
    assert answer["theory"]["settled_iteration_time_s"] == pytest.approx(0.1)


def test_a_report_is_the_page_with_its_charts(topoopt: Topoopt) -> None:
    ran = topoopt(*ASKED, "--report", "page.html")
    assert ran.code == 0
    assert "Written: page.html" in ran.out
    page = Path("page.html").read_text()
    assert "Loss landscape" in page
    assert "Offset of job 1" in page


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "jobs: expected at least one, got none; give job files"),
        (("a.json", "--communication", "0.4"), "--communication: is in place of job files"),
        (("--communication", "1.4"), "communication 1.4: expected a part of the period"),
        (
            ("--communication", "much"),
            "--communication: expected parts of the period with commas, such as 0.4",
        ),
        (("--communication", "0.4", "--ways", "fare"), "did you mean fair"),
        (("--communication", "0.4", "--capacity", "0Gbps"), "capacity"),
        (("--communication", "0.4", "--intercept", "0"), "F has to be positive"),
        (("--communication", "0.4", "--form", "liner"), "did you mean linear"),
    ],
)
def test_mistakes_are_one_line(topoopt: Topoopt, words: tuple[str, ...], says: str) -> None:
    ran = topoopt("mltcp", "simulate", *words)
    assert ran.code == 2
    assert says in ran.err
    assert ran.err.count("\n") == 1
