"""``topoopt simulate``: plans and task graphs, at every fidelity, on every fabric, into every file."""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from topoopt.catalog import networks_of
from topoopt.collectives import COLLECTIVE_NAMES
from topoopt.simulation import SIMULATORS

GRAPHS = EXAMPLES / "taskgraphs"
VGG, DLRM, TESTBED = (str(GRAPHS / f"{name}.fbuf.xz") for name in ("100vgg_16", "100dlrm_16", "taskgraph12"))
RINGS = str(GRAPHS / "100vgg_16_circ_d4_rings.fbuf.xz")
MEASURED = ("cpu_s", "peak_memory_bytes", "packet_hops_per_cpu_s", "events_per_cpu_s")
"""What differs from run to run."""

KEYS = {
    "iteration_time_s", "tasks", "flows", "packets", "packet_hops", "events", "events_per_cpu_s",
    "packet_hops_per_cpu_s", "cpu_s", "peak_memory_bytes", "drops", "marks", "timeouts", "links", "fabric",
    "transport", "compat", "seed", "simulator", "expected_error", "compute_time_s", "exposed_communication_s",
    "link_bytes_max", "bandwidth_tax", "collective", "iterations", "planned_iteration_time_s", "demanded_bytes",
    "hop_bytes", "hop_pairs", "model", "servers",
}  # fmt: skip
LINK_KEYS = [
    "src", "dst", "bandwidth_bps", "bytes", "utilization", "packets", "marks", "drops", "queue_peak_bytes",
]  # fmt: skip


def answer(topoopt: Topoopt, *words: str) -> dict[str, Any]:
    ran = topoopt("simulate", *words, "--json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def server_bandwidth_bps(found: dict[str, Any]) -> float:
    """Of all links out of server 0."""
    return float(sum(link["bandwidth_bps"] for link in found["links"] if link["src"] == 0))


def test_the_published_time_of_vgg_on_an_ideal_switch(topoopt: Topoopt) -> None:
    """210.4035 ms: FlexNetPacket's own output for this graph at 100 Gb/s, as published with the artifact."""
    words = (VGG, "--fabric", "ideal-switch", "--bandwidth", "100Gbps", "--compat", "flexnetpacket")
    found = answer(topoopt, *words)
    assert found["iteration_time_s"] == pytest.approx(0.2104035, rel=5e-4)
    assert (found["simulator"], found["transport"], found["compat"]) == ("packet", "dctcp", "flexnetpacket")
    assert server_bandwidth_bps(found) == 100e9
    printed = topoopt("simulate", *words).out
    assert f"{found['iteration_time_s'] * 1e3:.6g} ms" in printed
    assert "as flexnetpacket" in printed
    assert "busiest links" in printed


@pytest.mark.parametrize("simulator", ["auto", *SIMULATORS])
def test_every_simulator_gives_the_same_keys(topoopt: Topoopt, simulator: str) -> None:
    found = answer(topoopt, TESTBED, "--simulator", simulator)
    assert set(found) >= KEYS
    assert list(found["links"][0]) == LINK_KEYS
    packets = simulator == "packet"
    for key in (
        "packets",
        "packet_hops",
        "events",
        "events_per_cpu_s",
        "drops",
        "marks",
        "timeouts",
        "transport",
    ):
        assert (found[key] is not None) == packets
    assert (found["expected_error"] is not None) == (simulator in ("auto", "flow"))
    assert found["tasks"] == 564
    assert found["flows"] > 0
    assert 0 < max(link["utilization"] for link in found["links"]) <= 1


def test_a_tolerance_of_zero_is_exact_and_both_are_stated(topoopt: Topoopt) -> None:
    found = {}
    for tolerance in ("0", "1e-9", "0.1"):
        words = ("simulate", TESTBED, "--simulator", "flow", "--tolerance", tolerance, "--json")
        answer = json.loads(topoopt(*words).out)
        assert (answer["tolerance"], answer["share_tolerance"]) == (float(tolerance), 0)
        found[tolerance] = answer["iteration_time_s"]
    assert found["1e-9"] == pytest.approx(found["0"], rel=1e-8)
    assert found["0.1"] != found["0"]


def test_a_graph_is_played_by_packets_and_a_plan_by_the_cheapest_that_will_do(
    topoopt: Topoopt, plan_file: str
) -> None:
    assert answer(topoopt, TESTBED)["simulator"] == "packet"
    assert answer(topoopt, plan_file)["simulator"] in ("analytic", "flow")
    assert answer(topoopt, plan_file, "--transport", "dctcp")["simulator"] == "packet"
    assert answer(topoopt, plan_file, "--mark", "20")["simulator"] == "packet"


def test_auto_says_what_it_chose_and_the_error_to_expect(topoopt: Topoopt) -> None:
    printed = topoopt("simulate", DLRM, "--simulator", "auto").out
    assert "flow: transfers share links" in printed
    assert "median" in printed
    assert "against packets" in printed
    error = answer(topoopt, DLRM, "--simulator", "auto")["expected_error"]
    assert 0 < error["median"] < error["p90"] <= error["largest"]
    assert "benchmarks/flow_error.py" in error["source"]


def test_a_graph_with_connections_runs_on_them_unchanged(topoopt: Topoopt) -> None:
    own, named = (answer(topoopt, RINGS, *words) for words in ((), ("--fabric", "topoopt")))
    for key in MEASURED:
        del own[key], named[key]
    assert own == named
    assert own["fabric"] == "topoopt"
    # 4 rings at 100 Gb/s: FlexNetPacket gives 100.4803 ms for this file
    assert own["iteration_time_s"] == pytest.approx(0.1004803, rel=0.01)
    slower = answer(topoopt, RINGS, "--bandwidth", "25Gbps")
    assert slower["iteration_time_s"] == pytest.approx(0.2107275, rel=0.01)  # likewise


@pytest.mark.parametrize("fabric", list(networks_of("simulate")))
@pytest.mark.parametrize("simulator", ["flow", "packet"])
def test_any_graph_runs_on_any_fabric(topoopt: Topoopt, fabric: str, simulator: str) -> None:
    if (fabric, simulator) == ("mixnet", "packet"):
        pytest.skip("circuits follow one all-to-all after another in the flow simulator alone")
    words = ("--fabric", fabric, "--bandwidth", "50Gbps", "--degree", "4", "--simulator", simulator)
    found = answer(topoopt, DLRM, *words)
    assert (found["fabric"], found["simulator"]) == (fabric, simulator)
    assert found["iteration_time_s"] > found["compute_time_s"]
    if fabric not in ("sip-ml", "ocs-reconfig", "mixnet"):
        assert server_bandwidth_bps(found) == pytest.approx(
            200e9
        )  # a fat-tree, too: nothing is divided by 3.2


def test_a_plan_moves_to_another_fabric_with_its_own_bandwidth(topoopt: Topoopt, plan_file: str) -> None:
    plan = json.loads(Path(plan_file).read_text())
    together_bps = plan["cluster"]["degree"] * plan["cluster"]["link_bandwidth_bps"]
    found = answer(topoopt, plan_file, "--fabric", "fat-tree")
    assert server_bandwidth_bps(found) == pytest.approx(together_bps)
    assert found["planned_iteration_time_s"] == plan["iteration_time_s"]
    printed = topoopt("simulate", plan_file, "--fabric", "fat-tree").out
    assert "not divided by 3.2" in printed
    assert "on topoopt, its own" in printed


def test_strides_and_latency_and_routing(topoopt: Topoopt) -> None:
    ends = {(link["src"], link["dst"]) for link in answer(topoopt, VGG, "--strides", "1,7")["links"]}
    assert ends == {(i, (i + step) % 16) for i in range(16) for step in (1, 7, 9, 15)}
    words = (DLRM, "--strides", "1,5", "--simulator", "flow")
    quick, slow = (answer(topoopt, *words, "--latency", time) for time in ("1us", "1ms"))
    assert slow["iteration_time_s"] > quick["iteration_time_s"] + 2e-3
    balanced, single = (answer(topoopt, *words, *more) for more in ((), ("--routing", "single-shortest")))
    assert balanced["iteration_time_s"] < single["iteration_time_s"]


def test_a_fabric_may_have_spare_servers(topoopt: Topoopt) -> None:
    words = (TESTBED, "--fabric", "fat-tree", "--servers", "54")
    found = answer(topoopt, *words)
    assert (found["servers"], found["fabric_servers"]) == (12, 54)  # k = 6: the smallest that fits
    assert len({link["src"] for link in found["links"]}) == 54 + 45
    assert "42 of them spare" in topoopt("simulate", *words).out


def test_several_jobs_share_a_fabric(topoopt: Topoopt) -> None:
    words = (TESTBED, TESTBED, "--fabric", "ideal-switch", "--simulator", "flow", "--servers", "30")
    found = answer(topoopt, *words, "--placement", "strided")
    assert [job["servers"][:2] for job in found["jobs"]] == [[0, 2], [1, 3]]
    for job in found["jobs"]:  # on an ideal switch they do not meet
        assert job["first_iteration_time_s"] == pytest.approx(
            answer(topoopt, *words[1:])["iteration_time_s"], rel=1e-3
        )
    assert found["iteration_time_s"] == max(job["first_iteration_time_s"] for job in found["jobs"])
    printed = topoopt("simulate", *words).out
    assert printed.count("taskgraph12 ") >= 2
    assert "first iteration" in printed


def test_jobs_repeat_from_times_of_their_own(topoopt: Topoopt) -> None:
    words = (TESTBED, TESTBED, "--fabric", "oversub-fat-tree", "--servers", "24", "--placement", "strided")
    times = ("--iterations", "2", "--begin", "0s,1ms")
    weights = (
        "--transport",
        "mltcp-reno",
        "--mark",
        "20",
        "--aggressiveness",
        "4,0.25",
        "--totals",
        "learned",
    )
    found = answer(topoopt, *words, *times, *weights, "--progress-of", "job")
    assert [job["begin_s"] for job in found["jobs"]] == [0.0, 1e-3]
    assert [len(job["iteration_times_s"]) for job in found["jobs"]] == [2, 2]
    assert found["jobs"][1]["iteration_times_s"][0] == found["jobs"][1]["first_iteration_time_s"]
    assert sum(job["ecn_marks"] for job in found["jobs"]) > 0
    fluid = answer(topoopt, *words, *times, "--simulator", "flow")
    assert [job["ecn_marks"] for job in fluid["jobs"]] == [None, None]


def test_jobs_at_one_bottleneck_slow_each_other_down(topoopt: Topoopt) -> None:
    words = ("--fabric", "oversub-fat-tree", "--servers", "24", "--simulator", "flow")
    alone = answer(topoopt, TESTBED, *words)
    both = answer(topoopt, TESTBED, TESTBED, *words, "--placement", "strided")
    assert both["iteration_time_s"] > 1.05 * alone["iteration_time_s"]


def test_equal_seeds_give_equal_answers_and_others_do_not(topoopt: Topoopt) -> None:
    words = (DLRM, "--fabric", "fat-tree")
    first, again, other = (answer(topoopt, *words, "--seed", seed) for seed in ("0", "0", "1"))
    for found in (first, again, other):
        for key in (*MEASURED, "seed"):
            del found[key]
    assert first == again
    assert first != other


def test_flows_as_csv_and_as_parquet_are_the_same(topoopt: Topoopt, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="topoopt[parquet] is not installed")
    found = answer(topoopt, TESTBED, "--flows", "f.csv", "--links", "l.csv")
    answer(topoopt, TESTBED, "--flows", "f.parquet", "--links", "l.parquet")
    for name in ("f", "l"):
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
        table = parquet.read_table(tmp_path / f"{name}.parquet")
        assert list(rows[0]) == table.column_names
        assert [{key: str(value) for key, value in row.items()} for row in table.to_pylist()] == rows
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert list(rows[0]) == [
        "task", "operator", "phase", "src", "dst", "bytes", "start_s", "finish_s", "fct_s", "slowdown", "hops",
        "packets", "marks", "resent",
    ]  # fmt: skip
    assert len(rows) == found["flows"]
    assert max(float(row["fct_s"]) for row in rows) == pytest.approx(found["flow_completion"]["p100_s"])
    assert len((tmp_path / "l.csv").read_text().splitlines()) == 1 + len(found["links"])


def test_flows_of_a_simulator_without_packets(topoopt: Topoopt, tmp_path: Path) -> None:
    found = answer(topoopt, TESTBED, "--flows", "f.csv", "--simulator", "flow")
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert len(rows) == found["flows"]
    assert {(row["packets"], row["marks"], row["resent"]) for row in rows} == {("", "", "")}
    assert max(float(row["finish_s"]) for row in rows) <= found["iteration_time_s"] * (1 + 1e-12)


def test_parquet_without_pyarrow_names_the_remedy(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    ran = topoopt("simulate", TESTBED, "--flows", "f.parquet")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert 'pip install "topoopt[parquet]"' in ran.err


def test_a_trace_and_a_timeline_are_written_together(topoopt: Topoopt, tmp_path: Path) -> None:
    found = answer(topoopt, TESTBED, "--trace", "t.json", "--timeline", "t.csv")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    last_us = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    assert last_us == pytest.approx(found["iteration_time_s"] * 1e6, abs=1e-2)
    assert (tmp_path / "t.csv").read_text().startswith("server,operator,phase,iteration,start_s,finish_s\n")


def test_a_plan_written_as_fbuf_is_replayed_alike(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    rings = ("--collective", "ring")  # there are no other algorithms in such a file
    planned = answer(topoopt, plan_file, "--simulator", "packet", *rings, "--write-fbuf", "p.fbuf")
    replayed = answer(topoopt, "p.fbuf", "--write-fbuf", "again.fbuf")
    # compute times are float32 milliseconds in the file
    assert replayed["iteration_time_s"] == pytest.approx(planned["iteration_time_s"], rel=1e-6)
    assert (replayed["fabric"], replayed["model"]) == ("topoopt", "p")
    assert (tmp_path / "again.fbuf").stat().st_size > 1000


def test_a_cut_cable_costs_time_until_it_is_mended(topoopt: Topoopt) -> None:
    whole = answer(topoopt, DLRM)
    cut = answer(topoopt, DLRM, "--fail-link", "3-16@1ms:5ms")
    assert cut["drops"] > 0
    assert cut["timeouts"] > 0
    assert cut["iteration_time_s"] > whole["iteration_time_s"]
    assert {(link["src"], link["dst"]) for link in cut["links"] if link["drops"]} <= {(3, 16), (16, 3)}


def test_queues_mark_and_drop_as_asked(topoopt: Topoopt) -> None:
    words = (DLRM, "--fabric", "topoopt", "--strides", "1,5")
    usual, silent, short = (
        answer(topoopt, *words, *more) for more in ((), ("--mark", "0"), ("--buffer", "60"))
    )
    assert usual["marks"] > 0
    assert silent["marks"] == 0
    assert (usual["drops"], short["drops"] > 0) == (0, True)
    assert max(link["queue_peak_bytes"] for link in short["links"]) <= 60 * 8936


def test_losses_are_mended_as_asked(topoopt: Topoopt) -> None:
    words = (DLRM, "--fabric", "topoopt", "--strides", "1,5", "--buffer", "60")
    selective, all_again = (answer(topoopt, *words, "--recovery", how) for how in ("selective", "go-back-n"))
    assert all_again["resent"] > selective["resent"] > 0
    patient = answer(topoopt, DLRM, "--fail-link", "3-16@1ms:5ms", "--timeout-min", "100ms")
    assert patient["iteration_time_s"] > 0.1  # the first timeout comes then
    paused, never = (
        answer(topoopt, *words[:-2], "--transport", "dcqcn", "--pfc", packets) for packets in ("20", "0")
    )
    assert paused["pauses"] > never["pauses"] == 0


def test_small_allreduces_are_cut_short_alike_in_compatible_simulators(topoopt: Topoopt) -> None:
    own, compatible = (
        answer(topoopt, TESTBED, "--simulator", "flow", "--compat", how) for how in ("none", "flexnetpacket")
    )
    assert (own["compat"], compatible["compat"]) == ("none", "flexnetpacket")
    assert compatible["demanded_bytes"] < own["demanded_bytes"]


def test_a_path_choice_means_the_same_to_every_simulator(topoopt: Topoopt) -> None:
    words = (DLRM, "--fabric", "expander", "--bandwidth", "25Gbps")
    times = {
        (simulator, choice): answer(
            topoopt, *words, "--simulator", simulator, *(("--path-choice", choice) if choice else ())
        )["iteration_time_s"]
        for simulator in ("flow", "packet")
        for choice in ("", "connection", "packet")
    }
    assert times["flow", ""] == times["flow", "packet"] != times["flow", "connection"]
    assert times["packet", ""] == times["packet", "connection"] != times["packet", "packet"]


def test_circuits_change_as_fast_as_they_are_told(topoopt: Topoopt) -> None:
    words = (DLRM, "--fabric", "ocs-reconfig", "--bandwidth", "25Gbps", "--simulator", "flow")
    usual, quick, alone = (
        answer(topoopt, *words, *more)["iteration_time_s"]
        for more in ((), ("--reconfiguration-delay", "200us"), ("--no-host-forwarding",))
    )
    assert quick < usual < alone


def test_the_progress_tells_of_the_engine_and_of_how_much_is_done(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, int, int]] = []

    @contextmanager
    def noted(what: str) -> Iterator[object]:
        yield lambda *report: told.append(report)

    monkeypatch.setattr("topoopt.frontends.cli.simulate.progress", noted)
    answer(topoopt, str(GRAPHS / "100candle_16.fbuf.xz"))
    stages = [stage for stage, _, _ in told if not stage.startswith("compiling")]
    assert stages[:3] == ["reading", "loading the packet engine", "simulating: packet"]
    shares = [done for stage, done, total in told if total]
    assert shares == sorted(shares)
    assert len(set(shares)) > 2
    assert 0 < shares[0] < shares[-1] <= 1000


def test_the_progress_tells_of_an_engine_that_must_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    run_simulation = import_module("topoopt.simulation.jobs.run_simulation")
    told: list[str] = []
    compiles = njit(lambda number: number + 1)
    monkeypatch.setattr(run_simulation, "simulate", lambda *_: compiles(1))
    for _ in range(2):
        run_simulation.warm_up("packet", lambda stage, done, total: told.append(stage))
    once = "compiling the packet engine, once: half a minute"
    assert told == ["loading the packet engine", once, "loading the packet engine"]


def test_ctrl_c_under_way_leaves_nothing(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @contextmanager
    def impatient(what: str) -> Iterator[object]:
        def report(stage: str, done: int, total: int) -> None:
            if total:
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr("topoopt.frontends.cli.simulate.progress", impatient)
    files = ("--flows", "f.csv", "--links", "l.csv", "--trace", "t.json", "--write-fbuf", "p.fbuf")
    ran = topoopt("simulate", str(GRAPHS / "100candle_16.fbuf.xz"), *files)
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")
    assert not list(tmp_path.iterdir())


def test_mixnet_has_electrical_ports_and_circuits_in_regions(topoopt: Topoopt) -> None:
    words = ("--fabric", "mixnet", "--bandwidth", "50Gbps", "--degree", "8", "--simulator", "flow")
    shape = ("--electrical-ports", "4", "--region-servers", "4", "--circuits", "improved", "--hiding", "none")
    done = topoopt("simulate", DLRM, *words, *shape, "--reconfiguration-delay", "1ms")
    assert (
        "200 Gb/s on a fat-tree, 4 circuits of 50 Gb/s in regions of 4 servers, changed in 1 ms"
        in " ".join(done.out.split())
    )
    fewer = answer(topoopt, DLRM, *words)
    more = answer(topoopt, DLRM, *words, *shape)
    assert more["iteration_time_s"] < fewer["iteration_time_s"], "rings of DLRM are electrical"


def test_every_collective_runs_and_says_which_algorithm_each_group_took(
    topoopt: Topoopt, plan_file: str
) -> None:
    for name in COLLECTIVE_NAMES:
        found = answer(topoopt, plan_file, "--simulator", "flow", "--collective", name)
        assert found["collective"] == ("stepped" if name == "ring" else name)
        rows = found.get("collective_algorithms", [])
        assert bool(rows) == (name not in ("stepped", "bulk", "ring", "pairwise"))
        assert all(name in (row["algorithm"], "auto") and len(row["members"]) > 1 for row in rows)
    printed = topoopt("simulate", plan_file, "--collective", "tree").out
    assert re.search(r"collectives +\d+ by tree \(", printed)


def test_a_misspelled_collective_is_one_line(topoopt: Topoopt, plan_file: str) -> None:
    ran = topoopt("simulate", plan_file, "--collective", "treee")
    assert ran.code == 2
    assert 'collective: unknown name "treee"; did you mean tree' in ran.err
