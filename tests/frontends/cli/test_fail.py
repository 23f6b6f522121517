"""``topoopt fail``: what it prints, what it writes, and every mistake as one line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line


def test_a_dead_link_as_json(topoopt: Topoopt, plan_file: str) -> None:
    ran = topoopt("fail", plan_file, "--link", "0-1", "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["failure"] == "link 0-1"
    assert document["before"]["iteration_time_s"] == pytest.approx(
        json.loads(Path(plan_file).read_text())["iteration_time_s"]
    )
    assert document["during"]["name"] == "detour"
    assert document["during"]["iteration_time_s"] > document["before"]["iteration_time_s"]
    names = [row["name"] for row in document["repairs"]]
    assert names[:5] == ["detour", "whole-rings", "spread-detours", "borrow", "re-plan"]
    possible = [row for row in document["repairs"] if row["possible"]]
    assert document["repaired"] in possible
    assert all(row["reason"] for row in document["repairs"] if not row["possible"])
    assert document["repaired"]["speed"] >= 0.99 * max(row["speed"] for row in possible)


def test_a_dead_server_for_a_reader(topoopt: Topoopt, plan_file: str) -> None:
    ran = topoopt("fail", plan_file, "--server", "3", "--at", "100min")
    assert ran.code == 0
    for words in (
        "server 3 fails",
        "the job stops",
        "spare ←",
        "srv016 is the spare server",
        "10 min since the last",
    ):
        assert words in ran.out
    assert max(len(line) for line in ran.out.splitlines()) <= 110


def test_the_repaired_plan_is_a_plan(topoopt: Topoopt, plan_file: str) -> None:
    words = ("fail", plan_file, "--panel", "1", "--out", "repaired.json", "--json")
    document = json.loads(topoopt(*words).out)
    repaired = document["repaired"]
    ahead = next(row["reason"] for row in document["repairs"] if row["name"] == "look-ahead")
    assert ahead.startswith("the plan's price counts no look-ahead panel")
    again = json.loads(topoopt("simulate", "repaired.json", "--simulator", "analytic", "--json").out)
    assert again["iteration_time_s"] == pytest.approx(repaired["iteration_time_s"], rel=1e-9)
    assert json.loads(topoopt(*words, "--look-ahead").out)["repaired"]["name"] == "look-ahead"


def test_a_month_is_the_same_again_with_the_same_seed(topoopt: Topoopt, plan_file: str) -> None:
    words = ("fail", plan_file, "--availability", "--runs", "50", "--json")
    first, again, other = (topoopt(*words, "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == again != other
    document = json.loads(first)
    shares = [document[name]["mean"] for name in ("full_speed", "degraded", "down")]
    assert sum(shares) == pytest.approx(1)
    assert [row["kind"] for row in document["parts"]] == ["nic", "server", "panel"]
    assert all(row["origin"] for row in document["parts"])


def test_a_month_for_a_reader_says_where_its_rates_come_from(topoopt: Topoopt, plan_file: str) -> None:
    text = topoopt("fail", plan_file, "--availability", "--runs", "50").out
    for words in ("goodput", "±", "in closed form", "MixNet, published", "is assumed"):
        assert words in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 110


def test_a_repair_speaks_in_the_names_of_the_inventory(topoopt: Topoopt, plan_file: str) -> None:
    topoopt("export", plan_file, "--format", "inventory", "--out", "names")
    text = Path("names/inventory.yaml").read_text().replace("srv", "gpu-")
    Path("room.yaml").write_text(text)
    words = ("fail", plan_file, "--server", "3", "--without", "fewer-servers", "--inventory", "room.yaml")
    document = json.loads(topoopt(*words, "--json").out)
    assert [one["from_server_name"] for one in document["broken"] if one["from_server"] == 3][:1] == [
        "gpu-003"
    ]
    moves = document["moves_at_panels"]
    assert len(moves) == 4  # one end of the cord of each neighbor goes to the spare server
    assert {move["action"] for move in moves} == {"move"}
    assert {move["from_port"] for move in moves} == {4}
    assert {move["to_port"] for move in moves} == {17}
    assert moves[0]["text"].endswith("from port 4 to port 17 (C0065, spare ens1f0)")
    listed = text.replace("panels:", "- {name: standby, rack: rack09}\npanels:").replace(
        "ports: 16", "ports: 20"
    )
    Path("room.yaml").write_text(listed)
    assert "standby is the spare server" in topoopt(*words).out
    Path("room.yaml").write_text(text.replace("panel1", "panel0", 1))
    assert_one_line(topoopt(*words), "room.yaml: line 24: panels[1].name: panel0 stands twice")


ROOM = str(EXAMPLES / "room.yaml")


def test_what_fails_may_be_named_as_it_is_in_the_room(topoopt: Topoopt, plan_file: str) -> None:
    def failure(*words: str) -> str:
        name: str = json.loads(topoopt("fail", plan_file, *words, "--without", "re-plan", "--json").out)[
            "failure"
        ]
        return name

    assert failure("--server", "gpu-a04", "--inventory", ROOM) == "server 3"
    assert failure("--server", "srv003") == "server 3"
    assert failure("--panel", "panel1") == "panel 1"
    assert failure("--cable", "C0006") == "link 1-2"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cable", "C0099"), '--cable: there is no "C0099"; did you mean C00'),
        (("--server", "srv16"), '--server: there is no "srv16"; did you mean srv015 or srv'),
        (("--panel", "panel7"), '--panel: there is no "panel7"; did you mean panel'),
        (
            ("--panel", "ocs-north", "--inventory", ROOM),
            "ocs-north has interfaces of 0 and 1 and 2 and 3 of the",
        ),
        (("--availability", "--inventory", "no.yaml"), "--inventory: applies to one failure"),
        (("--link", "0-1", "--inventory", "no.yaml"), "no.yaml: no such file"),
        ((), "fail: give what fails: one of link, cable, server, panel, or availability"),
        (("--link", "0-2"), "there is no link 0-2; server 0 is wired to 1,"),
        (("--link", "0-16"), "link: expected a number in 0..15, got 16"),
        (("--link", "one-two"), '--link: expected two servers such as 3-4, got "one-two"'),
        (("--server", "16"), "server: expected a number in 0..15, got 16"),
        (("--panel", "-1"), "panel: expected a number in 0..3, got -1"),
        (("--server", "1", "--panel", "1"), "--panel: one failure at a time"),
        (("--server", "1", "--availability"), "--server: applies to one failure"),
        (("--availability", "--at", "1h"), "--at: applies to one failure"),
        (("--availability", "--out", "x.json"), "--out: writes the plan after one failure"),
        (("--availability", "--days", "0"), "--days: must be in 0 < days <= 36500"),
        (
            ("--availability", "--repaired-by", "robbot"),
            '--repaired-by: unknown name "robbot"; did you mean robot',
        ),
        (("--availability", "--spares", "-1"), "--spares: expected an integer >= 0, got -1"),
        (("--link", "0-1", "--spares", "2"), "--spares: is for availability; one failure is simulated with"),
        (("--availability", "--runs", "1"), "--runs: must be in 2..1000000, got 1"),
        (("--availability", "--seed", "-1"), "--seed: expected an integer >= 0, got -1"),
        (("--availability", "--rates", "no.yaml"), "no.yaml: no such file"),
        (("--link", "0-1", "--without", "spar"), 'unknown name "spar"; did you mean spare'),
        (("--link", "0-1", "--simulator", "flwo"), 'unknown name "flwo"; did you mean flow'),
        (("--link", "0-1", "--optics", "mems"), 'optical switch: unknown name "mems"'),
        (("--link", "0-1", "--at", "3"), "--at: unknown or missing unit"),
        (("--link", "0-1", "--out", "no/x.json"), "--out: no/x.json: the folder no does not exist"),
        (("--link", "0-1", "--rates", "x.yaml"), "--rates: is for availability"),
        (("--server", "1", "--without", "spare,fewer-servers"), "nothing repairs server 1"),
    ],
)
def test_a_mistake(topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str) -> None:
    assert_one_line(topoopt("fail", plan_file, *words), said)


def test_no_plan(topoopt: Topoopt) -> None:
    assert_one_line(topoopt("fail", "nowhere.json", "--link", "0-1"), "nowhere.json: no such file")
