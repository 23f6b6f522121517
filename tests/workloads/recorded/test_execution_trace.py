"""Execution traces of PyTorch hold the bytes that the profiler's traces hold, without times.

``data/dlrm_execution_traces.json`` has the collectives of a DLRM on 8 ranks, recorded in schema 1.0.1: from
facebookresearch/param, cut to the nodes ``record_param_comms`` and the keys that are read.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded import read_recording, recorded_times, recorded_traffic
from topoopt.workloads.traffic import AllReduceGroup


def note(name: str, rank: int, sent: int, came: int, **more: Any) -> dict[str, Any]:
    """Return a node as ``ExecutionTraceObserver`` writes it: group, rank in it and call are among the inputs."""
    said = {
        "collective_name": name,
        "dtype": "Float",
        "in_msg_nelems": sent,
        "out_msg_nelems": came,
        "pg_name": "0",
        "pg_size": 8,
        **more,
    }
    attributes = [{"name": key, "type": "string", "value": value} for key, value in said.items()]
    inputs = {"values": [[], 7, [str(said["pg_name"]), "default_pg"], rank, name, [], [], 0, 1, 8]}
    return {"id": 9, "name": "record_param_comms", "ctrl_deps": 2, "inputs": inputs, "attrs": attributes}


def written(tmp_path: Path, nodes: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> str:
    rows = [{"pg_name": "0", "ranks": list(range(8))}] if groups is None else groups
    begin = {
        "id": 3,
        "name": "## process_group:init ##",
        "inputs": {"values": [json.dumps(rows)]},
        "attrs": [],
    }
    content = {
        "schema": "1.1.1-chakra.0.0.4",
        "pid": 7,
        "start_ts": 1,
        "nodes": [begin, *nodes],
        "finish_ts": 2,
    }
    path = tmp_path / "et.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_collectives_are_those_of_all_ranks(tmp_path: Path) -> None:
    path = written(tmp_path, [note("allreduce", 5, 1000, 1000), note("_allgather_base", 5, 100, 800)])
    recording = read_recording(path)
    assert recording.recorded == {5}
    # 1,000 floats are AllReduced; 8 shards of 100 are gathered, half an AllReduce of 800
    assert recorded_traffic(recording, 4).allreduce == (AllReduceGroup((0, 1), 4000 + 1600),)
    assert recorded_times(recording, 4) is None


def test_a_rank_follows_from_first_rank_and_stride(tmp_path: Path) -> None:
    more = {"pg_name": "4", "pg_size": 2, "global_rank_start": 1, "global_rank_stride": 4}
    nodes = [note("allreduce", 1, 10, 10, **more), note("allreduce", 5, 1, 1)]
    assert read_recording(written(tmp_path, nodes)).recorded == {5}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            {"attrs": []},
            "record_param_comms with neither attributes nor sizes (1.1.1-chakra.0.0.4); record with PyTorch 2.4",
        ),
        ({"inputs": {"values": []}}, "does not say which rank it is of"),
    ],
)
def test_what_it_does_not_say_is_one_line(tmp_path: Path, node: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=r"et\.json") as caught:
        read_recording(written(tmp_path, [{**note("allreduce", 0, 1, 1), **node}], []))
    assert message in str(caught.value)


OLD = json.loads((Path(__file__).parent / "data" / "dlrm_execution_traces.json").read_text())


def old(tmp_path: Path, ranks: list[str], **changed: Any) -> str:
    """Write the traces of some ranks; ``changed`` are inputs of the AllReduces, by number."""
    for rank in ranks:
        nodes = [
            {**node, "inputs": [changed.get(f"n{index}", one) for index, one in enumerate(node["inputs"])]}
            if "allreduce" in node["inputs"]
            else node
            for node in OLD[rank]
        ]
        (tmp_path / f"rank{rank}.json").write_text(json.dumps({"schema": "1.0.1", "pid": 1, "nodes": nodes}))
    return str(tmp_path)


def test_before_attributes_all_sizes_are_inputs(tmp_path: Path) -> None:
    recording = read_recording(old(tmp_path, list(OLD)))
    assert (recording.accelerators, len(recording.recorded)) == (8, 8)
    traffic = recorded_traffic(recording, 1)
    assert traffic.allreduce == (AllReduceGroup(tuple(range(8)), 4 * 621_313),)
    # to every other rank: twice 768 floats, 3 longs, 48 ints, and of 3,392 ints a share by size
    sent = sum(float(traffic.mp_matrix()[0, peer]) for peer in range(1, 8))
    assert sent == 7 * (2 * 768 * 4 + 3 * 8 + 48 * 4) + 4 * (3392 - 96)
    answer = topoopt.traffic(str(tmp_path), accelerators_per_server=2, degree=2)
    assert answer.traffic.allreduce == (AllReduceGroup((0, 1, 2, 3), 4 * 621_313),)


def test_a_group_that_is_not_said_needs_all_ranks(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="ranks send each other messages, and rank 0 of 8 is not recorded"):
        recorded_traffic(read_recording(f"{old(tmp_path, ['3'])}/rank3.json"), 1)
    with pytest.raises(
        InvalidInput, match=r"rank\d.json: does not say which ranks its process groups have \(1.0.1"
    ):
        read_recording(old(tmp_path, list(OLD), n2=7))  # a second group
