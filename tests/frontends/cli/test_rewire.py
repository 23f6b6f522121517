"""``topoopt rewire``: fewest moves between two plan files, as text, JSON and rows."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line

NAMES = ("server_name", "interface_name", "cable", "panel_port")
WORDS = (
    *("plan", "dlrm", "--servers", "16", "--budget", "0"),
    *("--wirings", "strides", "--fabrics", "none", "--degree"),
)


@pytest.fixture
def other_plan(topoopt: Topoopt) -> str:
    assert (
        topoopt(
            *WORDS, "4", "--degree-split", "all-to-allreduce", "--strides", "nearest", "--out", "other.json"
        ).code
        == 0
    )
    document = json.loads(Path("other.json").read_text())
    document["topology"]["links"] = turned(document["topology"]["links"])
    document["topology"] |= {"offsets": [], "family": "direct"}
    document["rings"] = [renamed(ring) for ring in document["rings"]]
    document["routes"] = {"method": "k-shortest"}
    Path("other.json").write_text(json.dumps(document))
    return "other.json"


def renamed(ring: dict[str, Any]) -> dict[str, Any]:
    """Return the ring with servers 0 and 2 having exchanged their places; no stride makes it any more."""
    members = [{0: 2, 2: 0}.get(server, server) for server in ring["members"]]
    return {**ring, "stride": 0, "members": members}


def turned(links: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the links with servers 0 and 2 having exchanged their places, in order."""
    names = {0: 2, 2: 0}
    rows = sorted(
        (names.get(a, a), names.get(b, b), ports)
        for a, b, ports in zip(links["src"], links["dst"], links["ports"], strict=True)
    )
    src, dst, ports = (list(column) for column in zip(*rows, strict=True))
    return {**links, "src": src, "dst": dst, "ports": ports}


def test_a_plan_to_itself_moves_nothing(topoopt: Topoopt, plan_file: str) -> None:
    document = json.loads(topoopt("rewire", plan_file, plan_file, "--json").out)
    assert (document["moved_fibers"], document["gap"], document["steps"]) == (0, 0, [])


def test_more_interfaces_leave_all_that_is_wired_in_place(topoopt: Topoopt, plan_file: str) -> None:
    """Rings of strides 1 and 5 are among those of 1, 3, 5 and 7, on panels of their own: 32 cables are new."""
    assert topoopt(*WORDS, "8", "--out", "eight.json").code == 0
    for relabel in ((), ("--no-relabel",)):
        document = json.loads(topoopt("rewire", plan_file, "eight.json", *relabel, "--json").out)
        assert (document["kept_fibers"], document["moved_fibers"], document["gap"]) == (32, 32, 0)
        assert all(not step["unplug"] for step in document["steps"])


def test_two_servers_that_change_places_are_renamed(
    topoopt: Topoopt, plan_file: str, other_plan: str
) -> None:
    document = json.loads(topoopt("rewire", plan_file, other_plan, "--json").out)
    assert document["moved_fibers"] == 0
    assert document["relabeled"]
    plain = json.loads(topoopt("rewire", plan_file, other_plan, "--no-relabel", "--json").out)
    assert plain["moved_fibers"] == plain["lower_bound"] > 0
    assert plain["server_of_rank"] == list(range(16))


def test_a_running_job_is_rewired_in_steps_that_do_not_cut_it(
    topoopt: Topoopt, plan_file: str, other_plan: str
) -> None:
    words = ("rewire", plan_file, other_plan, "--keep-running")
    document = json.loads(topoopt(*words, "--json", "--out", "moves.csv").out)
    assert document["steps_that_cut"] == 0
    assert len(document["steps"]) > 1
    with open("moves.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(len(step["unplug"]) + len(step["plug"]) for step in document["steps"])
    assert list(rows[0]) == [
        "step",
        "action",
        "panel",
        "from_server",
        "from_interface",
        "to_server",
        "to_interface",
        "panel_name",
        *(f"from_{key}" for key in NAMES),
        *(f"to_{key}" for key in NAMES),
    ]
    text = topoopt(*words).out
    assert "none of which cuts the job" in text
    assert max(len(line) for line in text.splitlines()) <= 110


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.json",), "nowhere.json: no such file"),
        (("plan.json", "--interfaces-per-panel", "5"), "--interfaces-per-panel: must be in 1..4, got 5"),
        (("plan.json", "--out", "moves.txt"), "expected a file name that ends in .csv or .parquet"),
    ],
)
def test_a_mistake(topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str) -> None:
    assert_one_line(topoopt("rewire", plan_file, *words), said)


def test_plans_that_do_not_go_together(topoopt: Topoopt, plan_file: str) -> None:
    words = ("plan", "dlrm", "--servers", "8", "--degree", "4", "--budget", "0", "--fabrics", "none")
    topoopt(*words, "--links", "directed", "--out", "directed.json")
    topoopt(*words, "--out", "eight.json")
    assert_one_line(topoopt("rewire", plan_file, "directed.json"), "directed.json: links are directed")
    assert_one_line(
        topoopt("rewire", plan_file, "eight.json", "--keep-running"),
        "--keep-running: plan.json has 16 servers, eight.json 8",
    )
    smaller = json.loads(topoopt("rewire", plan_file, "eight.json", "--json").out)
    assert smaller["servers"] == 16


def test_moves_speak_in_the_names_of_the_inventory(topoopt: Topoopt, plan_file: str, other_plan: str) -> None:
    topoopt("export", plan_file, "--format", "inventory", "--out", "names")
    text = Path("names/inventory.yaml").read_text()
    Path("room.yaml").write_text(text.replace("srv", "gpu-").replace("panel1", "ocs-a").replace("C00", "F7"))
    words = ("rewire", plan_file, other_plan, "--no-relabel", "--inventory", "room.yaml")
    document = json.loads(topoopt(*words, "--json", "--out", "moves.csv").out)
    moves = document["moves_at_panels"]
    assert {move["panel"] for move in moves} <= {"panel0", "ocs-a", "panel2", "panel3"}
    assert all(move["server"].startswith("gpu-") and move["cable"].startswith("F7") for move in moves)
    assert sum(move["action"] != "plug" for move in moves) >= document["moved_fibers"] / 2
    with open("moves.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["from_server_name"] for row in rows} <= {f"gpu-{number:03}" for number in range(16)}
    page = topoopt(*words).out
    assert "gpu-000" in page
    assert max(len(line) for line in page.splitlines()) <= 110
    Path("room.yaml").write_text("servers: [{name: a}]")
    assert_one_line(topoopt(*words), "room.yaml: line 1: servers: 1 are listed, the plan has 16")
