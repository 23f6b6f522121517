"""``topoopt plan`` and the verbs that read what it writes."""

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import topoopt as topoopt_package
from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.published_schemas import published

KEYS = (
    "model",
    "servers",
    "degree",
    "bandwidth_bps",
    "strategy",
    "strides",
    "rings",
    "diameter",
    "average_hops",
    "compute_time_s",
    "iteration_time_s",
    "exposed_communication_s",
    "allreduce_bytes",
    "mp_bytes",
    "link_bytes_max",
    "bandwidth_tax",
    "lower_bound_s",
    "gap",
    "proposals",
    "proposals_per_s",
    "stopped_because",
    "baselines",
)
SMALL = ("--servers", "16", "--budget", "100")


def without_clock(document: dict[str, Any]) -> dict[str, Any]:
    search = {key: value for key, value in document["search"].items() if key != "cpu_s"}
    return {**document, "search": search, "proposals_per_s": None}


def test_json_has_the_stable_keys_and_follows_the_schema(topoopt: Topoopt) -> None:
    ran = topoopt("plan", "dlrm", *SMALL, "--fabrics", "ideal-switch,fat-tree", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert [key for key in KEYS if key not in answer] == []
    jsonschema.validate(answer, published("plan"))
    assert [row["fabric"] for row in answer["baselines"]] == ["ideal-switch", "fat-tree", "fat-tree"]
    assert answer["iteration_time_s"] >= answer["lower_bound_s"] >= answer["compute_time_s"] > 0
    assert answer["gap"] == pytest.approx(answer["iteration_time_s"] / answer["lower_bound_s"] - 1)


def test_the_file_is_what_json_prints(topoopt: Topoopt, tmp_path: Path) -> None:
    ran = topoopt("plan", "dlrm", *SMALL, "--fabrics", "none", "--json", "--out", "plan.json")
    assert json.loads(ran.out) == json.loads((tmp_path / "plan.json").read_text())


def test_equal_seeds_give_equal_plans(topoopt: Topoopt) -> None:
    words = ("plan", "bert", *SMALL, "--fabrics", "torus", "--json", "--seed", "7")
    first, again = (json.loads(topoopt(*words).out) for _ in range(2))
    assert without_clock(first) == without_clock(again)
    assert first["provenance"]["seed"] == 7


def test_the_report_says_the_main_things(topoopt: Topoopt) -> None:
    ran = topoopt(
        "plan", "dlrm", *SMALL, "--fabrics", "ideal-switch", "--out", "plan.json", "--set", "tables=8",
        "--wirings", "strides",
    )  # fmt: skip
    assert ran.code == 0
    for words in (
        "DLRM, dlrm-16: the authors' job of 16 servers",
        "tables=8",
        "16 servers of 4 × a100, 4 duplex ports of 100 Gb/s",
        "8 embedding tables",
        "diameter 4, 2.133 hops on average",
        "64 of 64 in use",
        "← binds",
        "ideal-switch",
        "topoopt simulate plan.json --simulator flow",
    ):
        assert words in ran.out


def test_what_does_not_fit_is_said(topoopt: Topoopt) -> None:
    words = ("plan", "dlrm", *SMALL, "--fabrics", "none", "--set", "rows=150000000")
    assert "Does not fit in memory" in topoopt(*words).out
    assert "Does not fit in memory" not in topoopt(*words, "--memory-check", "off").out
    enforced = json.loads(topoopt(*words, "--memory-check", "enforce", "--json").out)
    assert enforced["memory"]["fits"]


def test_flags_win_over_the_file_and_the_file_over_the_preset(topoopt: Topoopt, tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("servers: 16\ndegree: 8\n")
    (tmp_path / "job.yaml").write_text(
        "model: dlrm\nvariant: 16\nset: {tables: 8}\ncluster: hall.yaml\nembedding_bytes_factor: 1\n"
        "search: {preset: released, budget: 60, strides: nearest}\n"
    )
    words = (
        "plan",
        "job.yaml",
        "--degree",
        "4",
        "--set",
        "dim=64",
        "--chains",
        "1",
        "--fabrics",
        "none",
        "--json",
    )
    answer = json.loads(topoopt(*words).out)
    options = answer["search"]["options"]
    assert answer["cluster"]["degree"] == 4
    assert sum(op["kind"] == "embedding" for op in answer["graph"]["operators"]) == 8
    assert (options["budget"], options["chains"]) == (60, 1)
    assert (options["mode"], options["strides"]) == ("released", "nearest")
    assert options["degree_split"] == "all-to-allreduce"
    assert answer["settings"]["memory_check"] == "off"
    assert answer["settings"]["embedding_bytes_factor"] == 1
    assert set(answer["provenance"]["inputs"]) == {"job.yaml", "hall.yaml"}


@pytest.mark.parametrize("name", ["job.yaml", "dlrm.yaml", "operators.yaml", "operators.csv", "traffic.csv"])
def test_the_example_files_can_be_planned(topoopt: Topoopt, name: str) -> None:
    batch = ("--batch-per-accelerator", "64") if name.endswith("operators.csv") else ()
    flags = ("--servers", "16") if name.startswith("operators") else ()
    ran = topoopt("plan", str(EXAMPLES / name), *flags, *batch, "--budget", "40", "--fabrics", "ideal-switch")
    assert (ran.code, ran.err) == (0, "")
    assert "Iteration time" in ran.out


def test_a_plan_is_simulated_as_it_was_planned(topoopt: Topoopt, plan_file: str, plan_text: str) -> None:
    planned = json.loads(plan_text)
    answer = json.loads(topoopt("simulate", plan_file, "--simulator", "analytic", "--json").out)
    for key in (
        "iteration_time_s",
        "compute_time_s",
        "exposed_communication_s",
        "link_bytes_max",
        "bandwidth_tax",
    ):
        assert answer[key] == pytest.approx(planned[key])
    assert max(link["bytes"] for link in answer["links"]) == pytest.approx(answer["link_bytes_max"])


def test_steady_state_and_flow(topoopt: Topoopt, plan_file: str) -> None:
    cold = json.loads(topoopt("simulate", plan_file, "--simulator", "flow", "--json").out)
    steady = json.loads(topoopt("simulate", plan_file, "--simulator", "flow", "--steady-state", "--json").out)
    assert cold["simulator"] == "flow"
    assert (cold["iterations"], steady["iterations"]) == (1, 4)
    assert steady["link_bytes_max"] == pytest.approx(cold["link_bytes_max"], rel=1e-6)
    assert "steady state of 4 iterations" in topoopt("simulate", plan_file, "--steady-state").out


def test_a_timeline_ends_with_the_iteration(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    answer = json.loads(topoopt("simulate", plan_file, "--timeline", "t.csv", "--json").out)
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert max(float(row["finish_s"]) for row in rows) == pytest.approx(answer["iteration_time_s"])
    assert {row["phase"] for row in rows} >= {"forward", "backward", "allreduce"}


def test_traffic_of_a_plan_is_what_its_links_carry(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    simulated = json.loads(topoopt("simulate", plan_file, "--simulator", "analytic", "--json").out)
    moved = json.loads(topoopt("traffic", plan_file, "--json", "--csv", "t.csv").out)
    assert [link["bytes"] for link in moved["links"]] == pytest.approx(
        [link["bytes"] for link in simulated["links"]], rel=1e-4
    )
    assert sum(pair["mp_bytes"] for pair in moved["pairs"]) == moved["mp_bytes"]
    assert sum(pair["allreduce_bytes"] for pair in moved["pairs"]) == pytest.approx(
        moved["allreduce_wire_bytes"]
    )
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert len(rows) == len(moved["pairs"]) + len(moved["links"])


def test_a_table_a_server_and_eight_rings(topoopt: Topoopt) -> None:
    """The authors' all-to-all study: floor(2·127/128 · 1,359,273,988 / 8) bytes of AllReduce on each link."""
    words = ("traffic", "dlrm-alltoall", "--degree", "8", "--preset", "released", "--json")
    moved = json.loads(topoopt(*words, "--batch-per-accelerator", "256").out)
    on_links = {int(pair["allreduce_bytes"]) for pair in moved["pairs"]} - {0}
    assert on_links == {337_163_664}
    # Factor 2, both ends host a table: 4 · 1024 · 128 · 4 bytes forward and backward together.
    assert {pair["mp_bytes"] for pair in moved["pairs"]} == {4 * 1024 * 128 * 4}


def test_a_matrix_comes_back_as_it_was_written(topoopt: Topoopt, tmp_path: Path) -> None:
    before = json.loads(topoopt("traffic", "dlrm", "--servers", "8", "--matrix", "m.csv", "--json").out)
    after = json.loads(topoopt("traffic", "m.csv", "--json").out)
    total = sum(pair["mp_bytes"] + pair["allreduce_bytes"] for pair in before["pairs"])
    assert after["mp_bytes"] == pytest.approx(total, rel=1e-6)
    assert after["allreduce_bytes"] == 0


def test_compare_has_the_plan_first_and_the_others_in_order(topoopt: Topoopt, plan_file: str) -> None:
    words = ("compare", plan_file, "--fabrics", "torus,ideal-switch", "--baseline-budget", "20", "--json")
    answer = json.loads(topoopt(*words).out)
    assert [row["fabric"] for row in answer["fabrics"]] == ["topoopt", "torus", "ideal-switch"]
    for row in answer["fabrics"]:
        assert row["relative_time"] == pytest.approx(
            row["iteration_time_s"] / answer["fabrics"][0]["iteration_time_s"]
        )


def test_compare_gives_what_the_plan_says_of_the_same_fabrics(topoopt: Topoopt, tmp_path: Path) -> None:
    # On this expander data parallelism is a better start than the plan's own strategy.
    cluster = ("--servers", "12", "--degree", "3", "--bandwidth", "10Gbps")
    fabrics = ("--fabrics", "expander,ideal-switch", "--json")
    searched = ("--budget", "1000", "--baseline-budget", "40", "--out", "plan.json")
    planned = json.loads(topoopt("plan", "dlrm", *cluster, *searched, *fabrics).out)
    compared = json.loads(topoopt("compare", "plan.json", *fabrics).out)
    times_s = [row["iteration_time_s"] for row in compared["fabrics"]]
    assert times_s == [planned["iteration_time_s"], *(b["iteration_time_s"] for b in planned["baselines"])]


def test_compare_a_model_at_another_fidelity(topoopt: Topoopt) -> None:
    words = (
        "compare",
        "vgg16",
        *SMALL,
        "--fabrics",
        "ideal-switch",
        "--baseline-budget",
        "20",
        "--simulator",
        "flow",
    )
    ran = topoopt(*words)
    assert "simulator flow" in ran.out
    assert json.loads(topoopt(*words, "--json").out)["fabrics"][1]["simulator"] == "flow"


def test_ctrl_c_during_the_search_keeps_the_best_so_far(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reports = 0

    @contextmanager
    def impatient(what: str) -> Iterator[object]:
        def report(stage: str, done: int, total: int) -> None:
            nonlocal reports
            reports += 1
            if reports == 1:
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr("topoopt.frontends.cli.plan.progress", impatient)
    ran = topoopt("plan", "dlrm", *SMALL, "--fabrics", "none", "--out", "plan.json")
    assert ran.code == 130
    assert "The search was interrupted" in ran.out
    assert json.loads((tmp_path / "plan.json").read_text())["stopped_because"] == "interrupted"


def test_ctrl_c_before_there_is_anything_leaves_nothing(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*words: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(topoopt_package, "plan", interrupted)
    ran = topoopt("plan", "dlrm", *SMALL, "--out", "plan.json")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "interrupted: nothing was written\n"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_for_real(tmp_path: Path) -> None:
    """Whenever it comes: exit code 130, and a whole plan file or none."""
    command = [sys.executable, "-m", "topoopt", "plan", "dlrm", "--servers", "16", "--budget", "100000000"]
    running = subprocess.Popen(
        [*command, "--fabrics", "none", "--out", "plan.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(4)
    running.send_signal(signal.SIGINT)
    try:
        _, errors = running.communicate(timeout=600)
    finally:
        running.kill()
    assert running.returncode == 130, errors
    assert "Traceback" not in errors
    for path in tmp_path.iterdir():
        assert path.name == "plan.json"
        ended = json.loads(path.read_text())["stopped_because"] != "interrupted"
        assert ended == ("interrupted: the plan is in plan.json" in errors)
