"""What other simulators are given: Chakra's traces, ASTRA-sim's and SimAI's files, and when they refuse a plan."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import topoopt
from tests.simulation.chakra.messages import nodes_of
from topoopt.base.errors import Infeasible
from topoopt.plugins.exports import FORMATS, Contents, deployment
from topoopt.routing import Path as NodePath
from topoopt.topologies import hops_from

WORDS: dict[str, Any] = {"fabrics": (), "budget": 0, "wirings": "strides"}


@pytest.fixture(scope="module")
def data_parallel() -> topoopt.Plan:
    """16 servers that AllReduce gradients, and nothing else."""
    return topoopt.plan("vgg16", servers=16, degree=4, **WORDS)


def written(plan: topoopt.Plan, name: str) -> Contents:
    return FORMATS[name].write(deployment(plan))


# Chakra


def test_exported_traces_take_as_long_as_the_plan(plan: topoopt.Plan, tmp_path: Path) -> None:
    topoopt.write_plan(str(tmp_path / "plan.json"), plan)
    topoopt.export(plan, format="chakra", out=tmp_path / "traces")
    run = topoopt.simulate(tmp_path / "traces", fabric=str(tmp_path / "plan.json"), simulator="analytic")
    assert run.iteration_time_s == plan.simulate("analytic").iteration_time_s
    again = topoopt.simulate(tmp_path / "traces" / "plan", fabric="ideal-switch", bandwidth="400Gbps")
    assert again.fabric.name == "ideal-switch"


def test_every_send_has_its_receive_by_tag(plan: topoopt.Plan) -> None:
    files = written(plan, "chakra")
    ends: dict[int, list[tuple[object, ...]]] = {5: [], 6: []}
    for rank in range(16):
        data = files[f"plan.{rank}.et"]
        assert isinstance(data, bytes)
        for node in nodes_of(data)[1]:
            if node.type in ends:
                said = {one.name: getattr(one, one.WhichOneof("value")) for one in node.attr}
                ends[node.type].append(
                    tuple(said[key] for key in ("comm_src", "comm_dst", "comm_tag", "comm_size"))
                )
    assert Counter(ends[5]) == Counter(ends[6])
    assert len(set(ends[5])) == len(ends[5]) > 0


# ASTRA-sim: what its readers demand


@pytest.mark.parametrize(("servers", "degree", "shape"), [(3, 2, "FullyConnected"), (8, 2, "Ring")])
def test_astra_sims_network(servers: int, degree: int, shape: str) -> None:
    plan = topoopt.plan("vgg16", servers=servers, degree=degree, bandwidth="100Gbps", **WORDS)
    files = written(plan, "astra-sim")
    network = yaml.safe_load(str(files["network.yml"]))
    assert (network["topology"], network["npus_count"]) == ([shape], [servers])
    all_links_bps = network["bandwidth"][0] * 2**30 * 8 * (1 if shape == "Ring" else servers - 1)
    assert all_links_bps == pytest.approx(200e9)
    assert "its AllReduces send 200 Gb/s on all of its links together" in str(files["network.yml"])
    assert network["latency"] == [1000.0]
    system = json.loads(files["system.json"])
    assert system["scheduling-policy"] in ("LIFO", "FIFO")
    assert all(
        system[f"{kind}-implementation"] in (["ring"], ["direct"]) for kind in ("all-reduce", "all-to-all")
    )
    flags = re.findall(r"--[a-z-]+", str(files["run.sh"]))
    assert {f"--{kind}-configuration" for kind in ("workload", "system", "network", "comm-group")} < set(
        flags
    )


# ASTRA-sim: recorded runs of its analytical backend with contention (commit 72dd7f8, backend 599a047)

ALLREDUCE_MS = {8: 141.7, 16: 151.8, 64: 159.5, 256: 161.8}
"""An AllReduce of 1 GB on Ring(n), links of 12.5 GB/s and 1 us."""
VGG16_MS = {12.5e9: 193.77, 25e9: 112.8}
"""VGG16 on Ring(8), traces without the reductions inside servers, by the bandwidth of a link."""


def ring_s(ranks: int, size_bytes: int, bytes_per_s: float) -> float:
    """Return an AllReduce on its one-way ring: chunks on a link, latencies, and three accesses of its memory."""
    share = (ranks - 1) / ranks * size_bytes
    return 2 * share / bytes_per_s + 2 * (ranks - 1) * 1e-6 + 3 * share / 1600e9


@pytest.mark.parametrize("ranks", ALLREDUCE_MS)
def test_the_closed_form_of_astra_sims_ring_is_what_it_takes(ranks: int) -> None:
    assert ring_s(ranks, 10**9, 12.5e9) * 1e3 == pytest.approx(ALLREDUCE_MS[ranks], abs=0.1)


def astra_sim_s(data: Any, bytes_per_s: float, delays: bool = True) -> float:
    """Return how long a rank's trace takes there: one node at a time on the CPU, the accelerator and the network."""
    said = {}
    for node in nodes_of(data)[1]:
        attributes = {one.name: getattr(one, one.WhichOneof("value")) for one in node.attr}
        took_s = node.duration_micros * 1e-6 * (delays or "topoopt_delay_of" not in attributes)
        if node.type == 7:
            took_s = ring_s(8, attributes["comm_size"], bytes_per_s)
        resource = "cpu" if attributes["is_cpu_op"] else node.type
        said[node.id] = resource, set(node.data_deps), took_s
    now_s, done, running, waiting = 0.0, set[int](), dict[Any, tuple[float, int]](), sorted(said)
    while waiting or running:
        for number in list(waiting):
            resource, before, took_s = said[number]
            if resource not in running and before <= done:
                running[resource] = now_s + took_s, number
                waiting.remove(number)
        first = min(running, key=lambda resource: running[resource])
        now_s, number = running.pop(first)
        done.add(number)
    return now_s


def test_vgg16_takes_as_long_in_astra_sim_as_planned() -> None:
    plan = topoopt.plan("vgg16", servers=8, degree=2, bandwidth="100Gbps", fabrics=(), budget=0)
    rank = written(plan, "chakra")["plan.0.et"]
    for bytes_per_s, recorded_ms in VGG16_MS.items():
        assert astra_sim_s(rank, bytes_per_s, delays=False) * 1e3 == pytest.approx(recorded_ms, abs=0.1)
    network = yaml.safe_load(str(written(plan, "astra-sim")["network.yml"]))
    took_s = astra_sim_s(rank, network["bandwidth"][0] * 2**30)
    assert plan.simulate("analytic").iteration_time_s == pytest.approx(0.12667, abs=1e-5)
    assert took_s == pytest.approx(0.12667, rel=0.05)


def test_a_plan_that_computes_on_several_devices_of_a_server_is_refused() -> None:
    plan = topoopt.plan("llama2-7b", servers=8, degree=2, candidates=2, fabrics=(), wirings="strides")
    with pytest.raises(Infeasible, match="this plan computes on 8 devices of a server"):
        written(plan, "astra-sim")


def test_a_wiring_that_astra_sims_network_does_not_know_is_refused(data_parallel: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match=r"16 servers and 64 links is none; see format astra-sim-ns3"):
        written(data_parallel, "astra-sim")


# ns-3


def graph_of(text: str) -> tuple[list[int], set[int], list[tuple[int, int, str, str]]]:
    """Return the numbers of the first line, the switches, and the links, as common.h reads them."""
    lines = text.splitlines()
    links = []
    for line in lines[2:]:
        src, dst, rate, delay, error = line.split()
        assert re.fullmatch(r"[0-9.]+Gbps", rate)
        assert re.fullmatch(r"[0-9.]+ms", delay)
        assert float(delay.removesuffix("ms")) > 0
        assert error == "0"
        links.append((int(src), int(dst), rate, delay))
    return [int(word) for word in lines[0].split()[:5]], {int(word) for word in lines[1].split()}, links


def hosts_apart(links: list[tuple[int, int, str, str]], nodes: int, forwards: set[int]) -> np.ndarray:
    """Return hops between nodes where only some forward."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for src, dst, _, _ in links:
        near[src].append(dst)
        near[dst].append(src)
    hops = np.full((nodes, nodes), -1)
    for root in range(nodes):
        hops[root, root], queue = 0, [root]
        for here in queue:
            if here != root and here not in forwards:
                continue
            for there in near[here]:
                if hops[root, there] < 0:
                    hops[root, there] = hops[root, here] + 1
                    queue.append(there)
    return hops


def test_a_server_is_a_host_with_a_switch_of_its_own(data_parallel: topoopt.Plan) -> None:
    files = written(data_parallel, "astra-sim-ns3")
    (nodes, switches, count), forwarding, links = graph_of(str(files["topology.txt"]))
    assert (nodes, switches, count) == (32, 16, len(links))
    assert forwarding == set(range(16, 32))
    apart = hosts_apart(links, nodes, forwarding)[:16, :16]
    plan_hops = hops_from(data_parallel.fabric.topology, np.arange(16))
    away = ~np.eye(16, dtype=bool)
    assert (apart[away] == plan_hops[away] + 2).all()  # into the own switch, and out of that of the other
    assert links[0][2:] == ("400Gbps", "0.000001ms")
    assert links[-1][2:] == ("100Gbps", "0.001ms")
    assert json.loads(files["logical_topology.json"]) == {"logical-dims": ["16"]}
    rings = max(map(len, data_parallel.fabric.rings.values()))
    assert f"the plan's use {rings} at once" in str(files["README.txt"])


def detouring(plan: topoopt.Plan) -> topoopt.Plan:
    """Return a plan whose routes all go one link too far."""
    topology = plan.fabric.topology

    class Detours:
        method = "detours"

        def paths(self, src: int, dst: int) -> tuple[NodePath, ...]:
            path = plan.fabric.routes.paths(src, dst)[0]
            return (replace(path, nodes=(*path.nodes[:1], *self._extra(src), *path.nodes[1:])),)

        def _extra(self, src: int) -> Iterator[int]:
            yield int(topology.dst[topology.first_link[src]])
            yield src

    return replace(plan, fabric=replace(plan.fabric, routes=Detours()))


def test_routes_that_are_not_the_shortest_are_refused(
    plan: topoopt.Plan, directed_plan: topoopt.Plan
) -> None:
    with pytest.raises(
        Infeasible, match=r"of \d+ pairs of servers send along paths that are not the shortest"
    ):
        written(detouring(plan), "astra-sim-ns3")
    with pytest.raises(Infeasible, match="links go one way"):
        written(directed_plan, "astra-sim-ns3")


# SimAI


def test_simais_topology_and_workload(data_parallel: topoopt.Plan) -> None:
    files = written(data_parallel, "simai")
    text = str(files["topology.txt"])
    (nodes, each, inside, switches, count), forwarding, links = graph_of(text)
    assert (nodes, each, inside, switches, count) == (16 * 4 + 32, 4, 16, 16, len(links))
    assert text.splitlines()[0].endswith(" A100")
    assert forwarding == set(range(64, 96))
    apart = hosts_apart(links, nodes, forwarding)
    assert (apart[:64, :64] >= 0).all()
    assert (apart[0, 1:4] == 2).all()  # inside a server
    head, layers, *rows = str(files["workload.txt"]).splitlines()
    assert head.startswith("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ")
    assert "all_gpus: 64 " in head
    assert int(layers) == len(rows)
    table = [row.split() for row in rows]
    assert {len(row) for row in table} == {12}
    assert {row[9] for row in table} == {"NONE", "ALLREDUCE"}
    gradients = sum(int(row[10]) for row in table)
    assert gradients == data_parallel.traffic().allreduce_bytes
    compute_s = sum(int(row[column]) for row in table for column in (2, 5, 8)) / 1e9
    assert compute_s == pytest.approx(data_parallel.outcome.compute_time_s, rel=1e-6)


def test_what_simai_cannot_say_is_refused(plan: topoopt.Plan, data_parallel: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match="this job has transfers between servers"):
        written(plan, "simai")
    job = replace(data_parallel.job, cluster=replace(data_parallel.job.cluster, accelerator="b200"))
    with pytest.raises(Infeasible, match="SimAI knows the accelerators A100, A800, H100, H800, not B200-SXM"):
        written(replace(data_parallel, job=job), "simai")
