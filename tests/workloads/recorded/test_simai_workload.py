"""Workloads of SimAI and AICB: passes of layers, groups of ranks, and one line for what is none.

TENSOR is an example of SimAI (cut to two of its layers).
"""

from pathlib import Path
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.jobs import TrafficWork
from topoopt.plans import write_plan
from topoopt.workloads.recorded import read_recording, recorded_times, recorded_traffic, simai_workload
from topoopt.workloads.traffic import AllReduceGroup

HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {} ep: {} pp: 1 vpp: 8 ga: 1 all_gpus: {} "
TENSOR = (
    HEAD.format(8, 1, 8)
    + """checkpoints: 0 checkpoint_initiates: 0
2
embedding_layer     -1 556000  ALLREDUCE   16777216      1       NONE 0        1      NONE   0      1
embedding_layer     -1 556000  ALLREDUCE   67108864      1       NONE 0        1      NONE   0      1
"""
)
MIXED = (
    HEAD.format(2, 2, 16)
    + "pp_comm: 0\n2\n"
    + "a\t-1\t10\tALLGATHER\t1000\t20\tALLTOALL_EP\t400\t30\tALLREDUCE_DP_EP\t600\t100\n"
    + "b\t-1\t1\tNONE\t0\t2\tREDUCESCATTER\t8\t3\tALLREDUCE\t5000\t100\n"
)


def written(text: str, tmp_path: Path) -> str:
    (tmp_path / "workload.txt").write_text(text)
    return str(tmp_path / "workload.txt")


def test_tensor_parallel_layers_reduce_among_all(tmp_path: Path) -> None:
    file = written(TENSOR, tmp_path)
    recording = read_recording(file)
    # 16 MiB and 64 MiB
    assert recorded_traffic(recording, 2).allreduce == (AllReduceGroup((0, 1, 2, 3), 83_886_080),)
    times = recorded_times(recording, 2)
    assert times is not None
    assert times.compute_s == pytest.approx(2 * 556_002e-9)
    run = topoopt.simulate(
        file,
        accelerators_per_server=1,
        fabric="ideal-switch",
        bandwidth="100Gbps",
        simulator="analytic",
        latency=1e-9,
    )
    # the ring's 7/8 of the bytes twice at 100 Gb/s, after the time of each layer; a round adds a packet's time
    assert run.iteration_time_s == pytest.approx(2 * 556_002e-9 + 1.75 * 83_886_080 / 12.5e9, rel=3e-3)
    assert topoopt.traffic(file, accelerators_per_server=1).traffic.servers == 8


def test_groups_are_those_of_simai() -> None:
    workload = simai_workload(MIXED, "w")
    assert workload.members(5, "TP") == (4, 5)
    assert workload.members(5, "DP") == (1, 3, 5, 7, 9, 11, 13, 15)
    assert workload.members(5, "EP") == (5, 7)
    assert workload.members(5, "DP_EP") == (1, 5, 9, 13)
    names = [(one.layer, one.name) for one in workload.passes]
    assert names == [(a, b) for a, b in (
        ("a", "forward"), ("b", "forward"), ("b", "weights"), ("b", "backward"), ("a", "weights"), ("a", "backward")
    )]  # fmt: skip


def test_bytes_of_each_group_cross_servers(tmp_path: Path) -> None:
    # servers of one accelerator: all-gather and reduce-scatter are half an AllReduce, an all-to-all is transfers
    traffic = recorded_traffic(read_recording(written(MIXED, tmp_path)), 1)
    sizes = {group.members: group.size_bytes for group in traffic.allreduce}
    assert sizes[0, 1] == 500 + 4
    assert sizes[tuple(range(0, 16, 2))] == 5000
    assert sizes[0, 4, 8, 12] == 600
    assert len(sizes) == 8 + 2 + 4
    matrix = traffic.mp_matrix()
    assert matrix[0, 2] == matrix[2, 0] == matrix[15, 13] == 200
    assert matrix.sum() == 16 * 200


@pytest.mark.parametrize("per_server", [1, 2, 4])
def test_plan_and_simulation_take_exchanges_inside_servers_alike(per_server: int, tmp_path: Path) -> None:
    text = MIXED.replace("400", "400000").replace("5000", "50000000").replace("\t1000\t", "\t1000000\t")
    file = written(text, tmp_path)
    words: dict[str, Any] = {"accelerators_per_server": per_server, "intra_server_bandwidth": "4Tbps"}
    planned = topoopt.plan(file, degree=4, bandwidth="100Gbps", fabrics=(), budget=0, **words)
    write_plan(tmp_path / "plan.json", planned)
    run = topoopt.simulate(file, fabric=str(tmp_path / "plan.json"), simulator="analytic", **words)
    # tensors of 2 ranks: half of 1 MB and of 8 B at 500 GB/s; experts of 2: half of 400 kB
    inside_s = {1: 0.0, 2: (500_000 + 4) / 500e9, 4: (500_000 + 4 + 200_000) / 500e9}[per_server]
    assert run.result.compute_time_s == pytest.approx(66e-9 + inside_s)
    assert isinstance(planned.job.work, TrafficWork)
    assert planned.job.work.compute_s == pytest.approx(66e-9 + inside_s)
    assert planned.iteration_time_s == pytest.approx(run.iteration_time_s, rel=0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TENSOR.replace(" pp: 1", " pp: 4"),
            "line 1: pp: 4: pipeline stages are not read; give the model by its name",
        ),
        (TENSOR.replace("all_gpus: 8", "all_gpus: 12"), "line 1: all_gpus 12 is no multiple of 8"),
        (
            TENSOR.replace("all_gpus: 8", "all_gpus: many"),
            "line 1: all_gpus: expected an integer.* got",
        ),
        (TENSOR.replace("\n2\n", "\n3\n"), "line 2: says 3 layers, there are 2"),
        (
            TENSOR.replace("ALLREDUCE   67108864", "ALLREDUCE   -1"),
            "line 4: forward: bytes: expected an integer",
        ),
        (
            TENSOR.replace("ALLREDUCE   16777216", "GOSSIP 1"),
            'line 3: forward: collective "GOSSIP": expected NONE',
        ),
        (
            TENSOR.replace("ALLREDUCE   16777216", "ALLREDUCE_PP 1"),
            'line 3: forward: collective "ALLREDUCE_PP"',
        ),
        (TENSOR.replace("     1\n", "\n", 1), "line 3: expected 12 values of a layer, got 11"),
        (TENSOR.replace("     1\n", "     1 7 8\n", 1), "line 3: expected 12 values of a layer, got 14"),
        (
            "MICRO\n1\nmicro -1 1 ALLREDUCE 1 1 NONE 0 1 NONE 0 1\n",
            "no verb reads; give a workload of AICB, which begins with HYBRID_TRANSFORMER",
        ),
    ],
)
def test_what_is_no_workload_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    for read in (
        read_recording,
        lambda file: topoopt.simulate(
            file, accelerators_per_server=1, fabric="ideal-switch", bandwidth="100Gbps"
        ),
    ):
        with pytest.raises(InvalidInput, match=message) as raised:
            read(written(text, tmp_path))
        assert str(raised.value).startswith(str(tmp_path))
