"""``topoopt compare --simulators``: every fabric at two fidelities, and which tasks differ."""

import json

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.collectives import COLLECTIVE_NAMES

WORDS = ("--fabrics", "ideal-switch,fat-tree,torus", "--baseline-budget", "20", "--simulators")
ONE = ("--fabrics", "ideal-switch", *WORDS[2:])


def test_each_fabric_has_both_times_their_difference_and_the_tasks_behind_it(
    topoopt: Topoopt, plan_file: str
) -> None:
    found = json.loads(topoopt("compare", plan_file, *WORDS, "flow,packet", "--json").out)
    assert found["simulators"] == ["flow", "packet"]
    rows = found["fabrics"]
    assert [row["fabric"] for row in rows] == ["topoopt", "ideal-switch", "fat-tree", "fat-tree", "torus"]
    for row in rows:
        times = row["iteration_times_s"]
        assert list(times) == ["flow", "packet"]
        assert row["iteration_time_s"] == times["flow"]
        assert row["difference"] == pytest.approx(times["packet"] / times["flow"] - 1)
        assert abs(row["difference"]) < 0.1
        gaps = [abs(task["difference_s"]) for task in row["tasks"]]
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[0] > 0
        for task in row["tasks"]:
            assert task["difference_s"] == pytest.approx(task["times_s"]["packet"] - task["times_s"]["flow"])
            assert "server" in task["name"] or "->" in task["name"]


def test_the_times_are_those_of_simulate(topoopt: Topoopt, plan_file: str) -> None:
    own = json.loads(topoopt("compare", plan_file, *ONE, "packet,analytic", "--json").out)["fabrics"][0]
    alone = json.loads(topoopt("simulate", plan_file, "--simulator", "packet", "--json").out)
    assert own["iteration_times_s"]["packet"] == alone["iteration_time_s"]
    assert own["simulator"] == "packet"


def test_the_table_shows_both(topoopt: Topoopt, plan_file: str) -> None:
    printed = topoopt("compare", plan_file, *ONE, "analytic,flow").out
    assert "flow against analytic" in printed
    assert "Tasks that differ most" in printed


def test_packets_alone_are_compared_without_a_search_by_packets(topoopt: Topoopt, plan_file: str) -> None:
    words = ("--fabrics", "fat-tree", "--baseline-budget", "20", "--simulator", "packet", "--json")
    rows = json.loads(topoopt("compare", plan_file, *words).out)["fabrics"]
    assert {row["simulator"] for row in rows} == {"packet"}
    assert "tasks" not in rows[0]


def test_fabrics_are_compared_with_any_collective(topoopt: Topoopt, plan_file: str) -> None:
    words = ("--fabrics", "ideal-switch", "--simulator", "flow", "--json")
    found = {
        name: json.loads(topoopt("compare", plan_file, *words, "--collective", name).out)
        for name in ("stepped", "ring", "tree", "auto")
    }
    times = {name: [row["iteration_time_s"] for row in each["fabrics"]] for name, each in found.items()}
    assert times["ring"] == times["stepped"]
    assert all(auto <= ring * 1.01 for auto, ring in zip(times["auto"], times["ring"], strict=True))
    assert all(tree > ring for tree, ring in zip(times["tree"], times["ring"], strict=True))
    assert found["auto"]["collective"] == "auto"
    for row in found["auto"]["fabrics"]:
        optimal = {"ring", "parameter-server", "halving-doubling", "bfb"}  # no bytes too many
        assert optimal & set(row.get("algorithms", ["ring"]))  # rings, if no other is faster
        assert set(row.get("algorithms", ())) <= set(COLLECTIVE_NAMES)
    assert all(set(row["algorithms"]) == {"tree"} for row in found["tree"]["fabrics"])
    assert "algorithms" not in found["stepped"]["fabrics"][0]
