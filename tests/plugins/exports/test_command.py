"""``topoopt export``: what it prints, what it writes, and every mistake as one line that leaves nothing behind."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line

ROOM = str(EXAMPLES / "room.yaml")


def test_all_formats_for_a_reader(topoopt: Topoopt, plan_file: str) -> None:
    ran = topoopt("export", plan_file, "--out", "deploy")
    assert ran.code == 0
    assert "patch-list/patch-list.csv, patch-list/work-order.txt" in ran.out
    assert "no panel is polatis, they are manual" in ran.out
    assert "with --panels polatis" in " ".join(ran.out.split())
    assert max(len(line) for line in ran.out.splitlines()) <= 110
    written = json.loads(Path("deploy/written-by-topoopt.json").read_text())["files"]
    there = {str(one.relative_to("deploy")) for one in Path("deploy").rglob("*") if one.is_file()}
    assert there == {*written, "written-by-topoopt.json"}


def test_one_format_as_json(topoopt: Topoopt, plan_file: str) -> None:
    words = ("export", plan_file, "--format", "polatis", "--inventory", ROOM, "--out", "ocs", "--json")
    document = json.loads(topoopt(*words).out)
    assert document["panels"] == [{"name": "ocs-north", "kind": "polatis", "ports": 192}]
    assert (document["servers"], document["links"], document["circuits"]) == (16, "duplex", 32)
    (row,) = document["formats"]
    for file in row["files"]:
        assert Path("ocs", file["name"]).stat().st_size == file["size_bytes"]
    assert document["refused"] == []


def test_the_list_of_formats(topoopt: Topoopt) -> None:
    document = json.loads(topoopt("export", "--list", "--json").out)
    assert [row["name"] for row in document["formats"]][:2] == ["inventory", "patch-list"]
    assert "sonic-ocs" in topoopt("export", "--list").out
    assert not list(Path().iterdir())


def test_the_same_folder_is_written_again(topoopt: Topoopt, plan_file: str) -> None:
    for name in ("labels", "netbox"):
        assert topoopt("export", plan_file, "--format", name, "--out", "here").code == 0
    assert not Path("here/labels.csv").exists()
    assert Path("here/10-cables.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan.json",), "--out: missing; name a folder to be written, or give --list"),
        ((), "PLAN: missing; name a plan file, or give --list"),
        (
            ("plan.json", "--out", "d", "--format", "polatsi"),
            '--format: unknown name "polatsi"; did you mean polatis',
        ),
        (("plan.json", "--out", "d", "--format", "none"), "--format: name one or several of "),
        (("plan.json", "--out", "no/d"), "--out: no/d: the folder"),
        (("plan.json", "--out", "."), "--out: .: holds plan.json, which topoopt has not written"),
        (("plan.json", "--out", "plan.json"), "--out: plan.json: is a file or a link, expected a folder"),
        (
            ("plan.json", "--out", "d", "--format", "polatis"),
            "say so in the inventory, or with --panels polatis",
        ),
        (("plan.json", "--out", "d", "--panels", "glass"), '--panels: unknown name "glass"'),
        (
            ("plan.json", "--out", "d", "--panels", "manual", "--inventory", ROOM),
            "--panels: the inventory says",
        ),
        (
            ("plan.json", "--out", "d", "--keep-running"),
            "--keep-running: is of what is wired now; give --present",
        ),
        (
            ("plan.json", "--out", "d", "--inventory", "plan.json"),
            "plan.json: is a plan or the like, expected an inv",
        ),
        (("plan.json", "--out", "d", "--inventory", "no.toml"), "no.toml: no such file"),
        (("plan.json", "--out", "d", "--present", "no.json"), "no.json: no such file"),
        (("no.json", "--out", "d"), "no.json: no such file"),
    ],
)
def test_a_mistake_leaves_nothing_behind(
    topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str
) -> None:
    before = sorted(one.name for one in Path().iterdir())
    assert_one_line(topoopt("export", *words), said)
    assert sorted(one.name for one in Path().iterdir()) == before
