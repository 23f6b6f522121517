"""Execution traces of PyTorch hold the bytes that the profiler's traces hold, without times."""

import json
from pathlib import Path
from typing import Any

import pytest

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
