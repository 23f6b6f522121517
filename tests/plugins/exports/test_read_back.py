"""What is exported for simulators, a verb reads again: the same cables, bytes and times."""

from pathlib import Path

import numpy as np
import pytest

import topoopt
from topoopt.topologies.wirings import read_wiring_file


@pytest.fixture(scope="module")
def data_parallel() -> topoopt.Plan:
    """16 servers of 4 ports that AllReduce gradients, and nothing else."""
    return topoopt.plan("vgg16", servers=16, degree=4, fabrics=(), budget=0, wirings="strides")


@pytest.mark.parametrize("name", ["astra-sim-ns3", "simai"])
def test_a_topology_of_ns3_is_the_wiring(name: str, data_parallel: topoopt.Plan, tmp_path: Path) -> None:
    topoopt.export(data_parallel, format=name, out=tmp_path / "out")
    wiring, _ = read_wiring_file(tmp_path / "out" / "topology.txt")
    assert (wiring.servers, wiring.degree, wiring.recipe["latency_s"]) == (16, 4, 1e-6)
    topology = data_parallel.fabric.topology
    pairs = sorted(zip(*(ends.tolist() for ends in wiring.arcs), strict=True))
    ours = [(link.src, link.dst) for link in topology for _ in range(round(link.bandwidth_bps / 100e9))]
    assert pairs == sorted(ours)
    assert wiring.recipe["bandwidth_bps"] == 100e9


def test_a_workload_of_simai_sends_and_computes_as_the_plan(
    data_parallel: topoopt.Plan, tmp_path: Path
) -> None:
    topoopt.export(data_parallel, format="simai", out=tmp_path / "out")
    file = str(tmp_path / "out" / "workload.txt")
    again = topoopt.traffic(file, accelerators_per_server=4, degree=4)
    ours = topoopt.traffic(data_parallel)
    assert again.traffic.allreduce == ours.traffic.allreduce
    assert len(again.traffic.transfers) == len(ours.traffic.transfers) == 0
    run = topoopt.simulate(
        file, fabric="ideal-switch", bandwidth="400Gbps", simulator="analytic", accelerators_per_server=4
    )
    compute_s = data_parallel.simulate("analytic").result.compute_time_s
    assert run.result.compute_time_s == pytest.approx(compute_s, abs=1e-9 * 60)  # nanoseconds of each pass
    assert np.isfinite(run.iteration_time_s)
