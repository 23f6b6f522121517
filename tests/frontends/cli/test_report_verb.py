"""``topoopt report``: one file, whole or not at all, and one line for whatever is no report."""

import json
import lzma
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt


def test_a_plan_becomes_a_page(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    ran = topoopt("report", plan_file)
    assert ran.code == 0, ran.err
    assert "report of a plan" in ran.out
    assert "report.html, 13 figures" in ran.out
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_figures_for_papers_are_drawn_beside_it(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    ran = topoopt("report", plan_file, "--out", "p.html", "--figures", "figures", "--format", "svg", "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert said["kind"] == "plan"
    assert said["size_bytes"] == (tmp_path / "p.html").stat().st_size
    assert sorted(said["figures"]) == sorted(f"figures/{chart['name']}.svg" for chart in said["charts"])
    assert all((tmp_path / path).is_file() for path in said["figures"])
    planned = json.loads((tmp_path / plan_file).read_text())
    for name, value in said["key_numbers"].items():
        assert value == {**planned["ownership"], **planned}[name], name


def test_what_compare_prints_becomes_a_page(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    printed = topoopt("compare", plan_file, "--fabrics", "ideal-switch,fat-tree", "--json").out
    assert json.loads(printed)["format"] == "topoopt-comparison"
    (tmp_path / "comparison.json").write_text(printed)
    ran = topoopt("report", "comparison.json")
    assert ran.code == 0, ran.err
    assert "report of a comparison" in ran.out


ANSWERS = {
    "failure": ("fail", "plan.json", "--server", "3"),
    "rl": ("rl", "qwen3-8b", "--accelerators", "16", "--prompts", "64", "--samples", "8"),
    "finetune": ("finetune", "llama3-8b", "--accelerators", "8"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_has_a_page_from_its_verb_and_from_its_json(
    kind: str, topoopt: Topoopt, plan_file: str, tmp_path: Path
) -> None:
    ran = topoopt(*ANSWERS[kind], "--report", "own.html", "--json")
    assert ran.code == 0, ran.err
    assert f"</span> report of a {kind}<" in (tmp_path / "own.html").read_text()
    (tmp_path / "answer.json").write_text(ran.out)
    again = topoopt("report", "answer.json", "--json")
    assert again.code == 0, again.err
    said = json.loads(again.out)
    assert said["kind"] == kind
    assert said["key_numbers"]
    assert all(f": {json.dumps(value)}" in ran.out for value in said["key_numbers"].values())


def test_a_verb_does_not_write_its_page_over_a_file_that_it_reads(topoopt: Topoopt, plan_file: str) -> None:
    ran = topoopt("fail", plan_file, "--server", "3", "--report", plan_file)
    assert ran.err == f"error: --report: {plan_file} is the file that is read; give another name\n"


NOT_A_REPORT = {
    "missing.json": None,
    "empty.json": "",
    "text.json": "not json",
    "cut.json": '{"schema": "topoopt-plan/1", "fabric"',
    "string.json": '{\n "schema": "topoopt-pl',
    "list.json": "[1, 2]",
    "other.json": '{"format": "gpx"}',
    "plain.json": '{"a": 1}',
    "half.json": '{"schema": "topoopt-plan/1", "fabric": "topoopt"}',
    "newer.json": '{"format": "topoopt-cluster", "version": 99}',
    "typo.json": '{"format": "topoopt-comparison", "servrs": 3}',
}


@pytest.mark.parametrize("name", NOT_A_REPORT)
def test_a_file_that_is_none_of_them_is_one_line(name: str, topoopt: Topoopt, tmp_path: Path) -> None:
    content = NOT_A_REPORT[name]
    if content is not None:
        (tmp_path / name).write_text(content)
    ran = topoopt("report", name)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert name in ran.err
    assert not (tmp_path / "report.html").exists()


def test_a_file_of_another_kind_is_named_with_the_verbs_that_take_it(
    topoopt: Topoopt, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_bytes(lzma.compress(b"\x10\0\0\0"))
    ran = topoopt("report", "file.json")
    assert ran.code == 2
    assert ran.err == "error: file.json: is a task graph of FlexNet; topoopt simulate and phases take it\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [(b'{"schema": "topoopt-plan/1", "fab', "truncated"), (b'{"schema": "topoopt-plan/1", }', "not JSON")],
)
def test_what_is_wrong_with_a_file_is_said_with_what_is_allowed(
    content: bytes, said: str, topoopt: Topoopt, tmp_path: Path
) -> None:
    (tmp_path / "file.json").write_bytes(content)
    ran = topoopt("report", "file.json")
    assert ran.code == 2
    assert said in ran.err
    assert "topoopt plan --out" in ran.err
    assert ran.err.count("\n") == 1


def test_the_page_does_not_take_the_place_of_the_plan(
    topoopt: Topoopt, plan_file: str, tmp_path: Path
) -> None:
    before = (tmp_path / plan_file).read_bytes()
    ran = topoopt("report", plan_file, "--out", f"./{plan_file}")
    assert ran.code == 2
    assert "is the file that is read; give another name" in ran.err
    assert (tmp_path / plan_file).read_bytes() == before


def test_a_strange_file_is_told_what_is_allowed(topoopt: Topoopt, tmp_path: Path) -> None:
    (tmp_path / "strange.json").write_text('{"a": 1}')
    said = topoopt("report", "strange.json").err
    assert "the results of a sweep, the folder of a choice, or the JSON of a comparison" in said
    assert "topoopt plan --out" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "no/such/folder.html"), "the folder no/such does not exist"),
        (("--out", "."), "is a folder"),
        (("--figures", "plan.json"), "plan.json is a file"),
        (("--figures", "figures", "--format", "gif"), 'unknown name "gif"'),
        (("--figures", "figures", "--format", ","), "expected png, svg or pdf"),
    ],
)
def test_a_place_or_format_that_does_not_do_is_one_line(
    words: tuple[str, ...], said: str, topoopt: Topoopt, plan_file: str, tmp_path: Path
) -> None:
    ran = topoopt("report", plan_file, *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json"]
