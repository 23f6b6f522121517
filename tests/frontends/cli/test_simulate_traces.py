"""``topoopt simulate`` on Chakra's traces: those of an export take as long as their plan."""

import json
from pathlib import Path

from tests.frontends.cli.conftest import Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line

ANALYTIC = ("--simulator", "analytic", "--json")


def test_exported_traces_are_simulated_on_the_network_of_their_plan(topoopt: Topoopt, plan_file: str) -> None:
    assert topoopt("export", plan_file, "--format", "chakra", "--out", "traces").code == 0
    planned = json.loads(topoopt("simulate", plan_file, *ANALYTIC).out)
    for name in ("traces", "traces/plan", "traces/plan.0.et"):
        again = json.loads(topoopt("simulate", name, "--fabric", plan_file, *ANALYTIC).out)
        assert again["iteration_time_s"] == planned["iteration_time_s"]
        assert [row["bytes"] for row in again["links"]] == [row["bytes"] for row in planned["links"]]
        assert (again["model"], again["planned_iteration_time_s"]) == ("plan", None)


def test_mistakes_with_traces_are_one_line(topoopt: Topoopt, plan_file: str) -> None:
    topoopt("export", plan_file, "--format", "chakra", "--out", "traces")
    assert_one_line(
        topoopt("simulate", "traces"), "traces: holds no connections; name a fabric with --fabric NAME"
    )
    assert_one_line(topoopt("simulate", "traces", "--fabric", "torus"), "traces: names no bandwidth")
    assert_one_line(
        topoopt("simulate", "traces", "--fabric", plan_file, "--degree", "2"),
        "says what its network is; leave it out",
    )
    assert_one_line(topoopt("simulate", "traces", "--fabric", "gone.json"), "gone.json: no such file")
    assert_one_line(
        topoopt("simulate", "traces", "--steady-state", "--fabric", plan_file),
        "holds one iteration; it is for plans",
    )
    Path("traces/plan.0.et").unlink()
    assert_one_line(topoopt("simulate", "traces", "--fabric", plan_file), "traces: rank 0 is missing")
