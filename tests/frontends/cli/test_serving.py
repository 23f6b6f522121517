"""``topoopt serving`` of several servers: pages, JSON, cables as a plan for others, and mistakes in one line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt, instead

ASKED = (
    "serving",
    "llama3-70b",
    "--servers",
    "4",
    "--degree",
    "2",
    "--bandwidth",
    "100Gbps",
    "--isl",
    "4096",
)
GIVEN = (
    *ASKED,
    "--prefill",
    "2xtp8",
    "--decode",
    "2xtp8",
    "--rate",
    "1",
    "--duration",
    "2min",
    "--fabrics",
    "topoopt,rail",
)


def test_the_cables_of_its_answer_are_a_plan_that_others_take(topoopt: Topoopt) -> None:
    ran = topoopt(*GIVEN, "--out", "plan.json", "--report", "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert "on every fabric: 2 × TP8 read, 2 × TP8 answer" in ran.out
    assert "Keys and values" in Path("page.html").read_text()
    assert topoopt("verify", "plan.json").code == 0
    moved = json.loads(topoopt("traffic", "plan.json", "--json").out)
    assert {row["src"] for row in moved["pairs"]} == {0, 1}
    assert {row["dst"] for row in moved["pairs"]} == {2, 3}


def test_json_has_a_row_for_each_fabric(topoopt: Topoopt) -> None:
    found = json.loads(topoopt(*GIVEN, "--json").out)
    assert [row["fabric"] for row in found["fabrics"]] == ["topoopt", "rail"]
    for row in found["fabrics"]:
        assert row["deployment"]["prefill"]["tensor"] == 8
        assert row["attainment"] > 0.9
        assert row["bandwidth_tax"] >= 1
        assert row["kv_bandwidth_bps"] > 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("--decode", "four"),
            "--decode: expected how a replica is split, and how many there are if that is known",
        ),
        (("--fabrics", "rails"), '--fabrics: unknown name "rails"; did you mean rail?'),
        (("--servers", "0"), "--servers: expected an integer >= 1, got 0"),
        (
            (*GIVEN[-6:-2], "--fabrics", "rail", "--out", "plan.json"),
            "--out: topoopt is not among the fabrics",
        ),
        (
            ("--lora-adapters", "64"),
            "--lora-rank: missing beside --lora-adapters 64; adapters have a number and a rank",
        ),
        (
            ("--lora-rank", "16"),
            "--lora-adapters: missing beside --lora-rank 16; adapters have a number and a rank",
        ),
        (("--dispatch", "fp4"), 'dispatch: unknown name "fp4"'),
        (("--kv-precision", "fp3"), 'unknown name "fp3"'),
        (("--weight-precision", "fp3"), 'unknown name "fp3"'),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(topoopt: Topoopt, words: tuple[str, ...], line: str) -> None:
    ran = topoopt(*instead(ASKED, *words))
    assert ran.code == 2
    assert line in ran.err
    assert ran.err.count("\n") == 1
    assert not Path("plan.json").exists()
