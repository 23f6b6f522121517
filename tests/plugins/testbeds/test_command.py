"""``topoopt testbed up``, ``status`` and ``down``: what they print, and every mistake in one line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.plugins.testbeds.namespaces import namespaces_named
from topoopt.plugins.testbeds.network import build, switch_layout


def test_up_status_and_down(topoopt: Topoopt, machine: str) -> None:
    done = topoopt("testbed", "up", "--name", machine)
    assert done.code == 0, done.err
    assert "packets of all 132 pairs go as the plan says" in " ".join(done.out.split())
    assert f"topoopt testbed down {machine}" in done.out
    assert len(namespaces_named(f"topoopt-{machine}-")) == 12
    listed = json.loads(topoopt("testbed", "status", "--json").out)
    assert [(one["name"], one["standing"], one["servers"]) for one in listed["testbeds"]] == [
        (machine, "up", 12)
    ]
    assert listed["testbeds"][0]["link_bandwidth_bps"] == 25e6
    again = topoopt("testbed", "up", "--name", machine)
    assert again.code == 2
    assert again.err.startswith(f'error: --name: there is a testbed "{machine}"')
    gone = json.loads(topoopt("testbed", "down", machine, "--json").out)
    assert [one["name"] for one in gone["testbeds"]] == [machine]
    assert namespaces_named(f"topoopt-{machine}-") == ()
    assert json.loads(topoopt("testbed", "status", "--json").out)["testbeds"] == []


def test_a_plan_of_a_file_is_put_up(topoopt: Topoopt, machine: str, plan_text: str) -> None:
    Path("plan.json").write_text(plan_text)
    done = topoopt("testbed", "up", "plan.json", "--name", machine, "--scale", "10000", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["checked_pairs"], found["testbeds"][0]["servers"]) == (16 * 15, 16)
    assert topoopt("testbed", "down", "--all").code == 0
    assert namespaces_named(f"topoopt-{machine}-") == ()


def test_down_removes_all_testbeds_of_a_run_and_no_other(topoopt: Topoopt, machine: str) -> None:
    """A run makes NAME-0 and so on, one a fabric; what ``up`` has called so is another's."""
    layout = switch_layout(2, 1e9)
    with (
        build(layout, f"{machine}-0", 100),
        build(layout, f"{machine}-1", 100),
        build(layout, f"{machine}-x", 100),
        build(layout, f"{machine}-2", 100, kept=True),
    ):
        gone = json.loads(topoopt("testbed", "down", machine, "--json").out)
        assert [one["name"] for one in gone["testbeds"]] == [f"{machine}-0", f"{machine}-1"]
        assert len(namespaces_named(f"topoopt-{machine}-")) == 6
    assert topoopt("testbed", "down", f"{machine}-2").code == 0
    assert namespaces_named(f"topoopt-{machine}-") == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("up", "--fabric", "fat-tre"), '--fabric: unknown name "fat-tre"; did you mean fat-tree?'),
        (("up", "--scale", "0.5"), "--scale: must be in 1..1e+06, got 0.5"),
        (
            ("up", "--scale", "30000"),
            "--scale 30000: links of 833.3 kb/s are too slow for packets of 9,000 bytes",
        ),
        (("up", "--name", "A b"), '--name: expected small letters, digits and "-"'),
        (("up", "plan.json"), "plan.json: no such file"),
        (("run", "plan.json"), "plan.json: no such file"),
        (("run", "--workload", "plan"), "--workload: plan is the job of a plan; give one"),
        (("run", "--workload", "dlr"), '--workload: unknown name "dlr"; did you mean dlrm?'),
        (("run", "--fabrics", "fat-tre"), '--fabrics: unknown name "fat-tre"; did you mean fat-tree?'),
        (("run", "--cut", "0-1"), '--cut: expected two servers and an iteration such as 0-1@1, got "0-1"'),
        (("run", "--cut", "0-1@9"), "--cut: iteration 9 must have a measured one before and after it"),
        (("run", "--name", "A b"), '--name: expected small letters, digits and "-"'),
        (("down",), "NAME: give the name of a testbed, or --all; topoopt testbed status lists them"),
        (("down", "a", "--all"), "NAME: give the name of a testbed, or --all"),
        (("down", "nothing"), 'testbed: there is no testbed "nothing"; there are: none'),
    ],
)
def test_a_mistake_is_one_line_whatever_the_machine_has(
    topoopt: Topoopt, bare: None, words: tuple[str, ...], message: str
) -> None:
    done = topoopt("testbed", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert json.loads(topoopt("testbed", "status", "--json").out)["testbeds"] == []


def test_a_plan_that_is_too_slow_for_its_testbed_is_named_first(
    topoopt: Topoopt, bare: None, plan_text: str
) -> None:
    Path("plan.json").write_text(plan_text)
    done = topoopt("testbed", "run", "plan.json", "--scale", "1000000")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --scale 1e+06: links of ")


def test_more_than_this_machine_carries_is_one_line(topoopt: Topoopt, machine: str) -> None:
    done = topoopt("testbed", "up", "--scale", "1")
    assert (done.code, done.out) == (2, "")
    assert "--scale 1: all links together are 1.2 Tb/s, this machine carries" in done.err
    assert json.loads(topoopt("testbed", "status", "--json").out)["testbeds"] == []
