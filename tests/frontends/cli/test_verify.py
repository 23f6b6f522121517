"""``topoopt verify``: the page, JSON and the exit code."""

import json
from pathlib import Path

import pytest

import topoopt
from topoopt.frontends.cli.program import run


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "plan.json"
    topoopt.write_plan(path, topoopt.plan("ncf", servers=8, degree=4, fabrics=(), budget=5))
    return path


def test_a_plan_that_passes_ends_with_0(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(plan_file)]) == 0
    shown = capsys.readouterr()
    assert "all 11 checks pass" in shown.out
    assert shown.err == ""


def test_one_that_fails_ends_with_2_and_a_line_a_check(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = json.loads(plan_file.read_text())
    file["diameter"] += 1
    spoiled = tmp_path / "spoiled.json"
    spoiled.write_text(json.dumps(file))
    assert run(["verify", str(spoiled), "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["passed"] is False
    assert shown.err.splitlines() == [
        f"error: {spoiled}: numbers: diameter: the plan says {file['diameter']}, and it is {file['diameter'] - 1}"
    ]
