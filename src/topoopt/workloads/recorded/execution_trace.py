"""PyTorch's execution traces, of ``ExecutionTraceObserver``: their collectives as a trace of ``torch.profiler``.

They have operators and their inputs, without times: they yield bytes, and no times. Since PyTorch 2.4 (schemas
1.1.0 and up) a collective has attributes; before, all sizes are among its inputs: the tensors, a number of the
request, the process group, the rank in it, the name and the splits; then first rank, stride and size, if any.

References
----------
.. [1] github.com/pytorch/pytorch, ``torch/csrc/profiler/standalone/execution_trace_observer.cpp`` (attributes of a
   node ``record_param_comms``) and ``torch/csrc/distributed/c10d/ParamCommsUtils.hpp`` (its inputs, of which the fourth
   is the rank in the group; for messages and rooted collectives the other end).
"""

import json
from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded.pytorch_traces import NAME, NOTE, SILENT

_GROUPS = "## process_group:init ##"
_ATTRIBUTES = {
    "collective_name": "Collective name",
    "dtype": "dtype",
    "in_msg_nelems": "In msg nelems",
    "out_msg_nelems": "Out msg nelems",
    "in_split_size": "In split size",
    "global_rank_start": "Global rank start",
    "global_rank_stride": "Global rank stride",
    "pg_size": "Group size",
    "pg_name": "Process Group Name",
}
"""Attributes of a node, and their names in the profiler."""
_OWN_RANK = frozenset(
    {
        *(
            *("allreduce", "all_reduce", "all_gather", "_allgather_base", "reduce_scatter"),
            "_reduce_scatter_base",
        ),
        *("all_to_all", "all_to_allv", "barrier", "wait", "init"),
    }
)
"""Collectives whose rank is the caller's own."""
_TYPES = {1: "Byte", 2: "Half", 4: "Float", 8: "Long", 16: "ComplexDouble"}
"""A type of the profiler for each size of an element; a tensor among the inputs has only its size."""
_WORLD = "0"
"""The name of the one process group of a trace that does not name its groups."""


def is_execution_trace(content: object) -> bool:
    """Return whether the content of a JSON file is such a trace."""
    return (
        isinstance(content, Mapping)
        and isinstance(content.get("nodes"), list)
        and _schema(content).startswith("1.")
    )


def as_profiler_trace(place: str, content: Mapping[str, Any], files: int = 1) -> dict[str, Any]:
    """Return the collectives of an execution trace as a trace of ``torch.profiler``.

    Parameters
    ----------
    files
        Number of traces of the run; that of its ranks, where a trace does not name its groups.

    Raises
    ------
    InvalidInput
        If its collectives have neither attributes nor sizes among their inputs, their groups cannot be known, or
        its rank is missing.
    """
    nodes = [node for node in content["nodes"] if isinstance(node, Mapping)]
    groups = [row for node in nodes if node.get("name") == _GROUPS for row in _group_rows(node)]
    events: list[dict[str, Any]] = [{"name": name} for node in nodes if (name := _step(node))]
    calls = [_said(place, content, node) for node in nodes if node.get("name") == NOTE]
    unnamed = [said for said in calls if "group" in said]
    if unnamed:
        size = max(files, *(len(said["In split size"]) for said in unnamed))
        if len({said["group"] for said in unnamed}) > 1 or size == 1:
            raise InvalidInput(
                f"{place}: does not say which ranks its process groups have ({_schema(content)}, before PyTorch "
                "2.4); give the folder with the traces of all ranks of a run with one group, or record with 2.4 or "
                "later"
            )
        groups.append({"pg_name": _WORLD, "ranks": list(range(size))})
    events += [{"name": NOTE, "args": said} for said in calls if said]
    ranks = []
    for event in events:
        said = event.get("args", {})
        if said.get(NAME) in _OWN_RANK and (rank := _global_rank(said, groups)) is not None:
            ranks.append(rank)
    if events and not ranks:
        raise InvalidInput(f"{place}: does not say which rank it is of: no collective has its group's ranks")
    about: dict[str, Any] = {"pg_config": groups}
    if ranks:
        about["rank"] = max(set(ranks), key=ranks.count)
    return {"distributedInfo": about, "traceEvents": events}


def _step(node: Mapping[str, Any]) -> str:
    name = str(node.get("name", ""))
    return name if name.startswith("ProfilerStep#") else ""


def _said(place: str, content: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a collective in the words of the profiler; nothing of one that moves nothing, without sizes."""
    rows = node.get("attrs")
    said = {
        _ATTRIBUTES[row["name"]]: row.get("value")
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and row.get("name") in _ATTRIBUTES
    }
    inputs = _values(node, "inputs")
    if NAME in said:
        own = inputs[3] if len(inputs) > 3 else None
        return {**said, "Rank": own} if type(own) is int and own >= 0 else said
    at = next((index for index, value in enumerate(inputs) if isinstance(value, str)), 0)
    whole = at >= 2 and type(inputs[at - 1]) is int and len(inputs) >= at + 3
    if whole and inputs[at] in SILENT:
        return {}
    sent, came = _elements(inputs[: max(at - 2, 0)]), _elements(_values(node, "outputs"))
    one_bytes = max(sent[1], came[1])
    if not whole or not one_bytes:
        raise InvalidInput(
            f"{place}: {NOTE} with neither attributes nor sizes ({_schema(content)}); record with PyTorch 2.4 or later"
        )
    split, more = inputs[at + 1], inputs[at + 3 : at + 6]
    said = {
        NAME: inputs[at],
        "Rank": inputs[at - 1],
        "dtype": _TYPES.get(one_bytes, f"of {one_bytes} bytes"),
        "In msg nelems": sent[0],
        "Out msg nelems": came[0],
        "In split size": split if isinstance(split, list) else [],
    }
    if len(more) == 3 and all(type(one) is int for one in more):
        return said | dict(zip(("Global rank start", "Global rank stride", "Group size"), more, strict=True))
    return {**said, "Process Group Name": _WORLD, "group": str(inputs[at - 2])}


def _elements(value: Any) -> tuple[int, int]:
    """Return the elements of all tensors in a nested list, and the bytes of one: [number, storage, offset, elements,
    bytes of one, device]."""
    if not isinstance(value, list):
        return 0, 0
    if len(value) == 6 and isinstance(value[5], str) and all(type(one) is int for one in value[:5]):
        return value[3], value[4]
    inner = [_elements(one) for one in value]
    return sum(one[0] for one in inner), max((one[1] for one in inner), default=0)


def _schema(content: Mapping[str, Any]) -> str:
    return str(content.get("schema", ""))


def _group_rows(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the process groups, which are JSON text among the inputs."""
    found = []
    for value in _values(node, "inputs"):
        try:
            rows = json.loads(value) if isinstance(value, str) else None
        except ValueError:
            continue
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, Mapping) and isinstance(ranks := row.get("ranks"), list | dict):
                members = [int(rank) for rank in ranks if str(rank).isdecimal()]
                found.append({"pg_name": str(row.get("pg_name", "")), "ranks": members})
    return found


def _values(node: Mapping[str, Any], key: str) -> list[Any]:
    has = node.get(key)
    values = has.get("values") if isinstance(has, Mapping) else has
    return values if isinstance(values, list) else []


def _global_rank(said: Mapping[str, Any], groups: list[dict[str, Any]]) -> int | None:
    """Return the caller's rank; None where neither its group nor first rank and stride give it."""
    place = said.get("Rank")
    if place is None:
        return None
    for row in groups:
        if row["pg_name"] == str(said.get("Process Group Name", "")) and place < len(row["ranks"]):
            return int(row["ranks"][place])
    start, stride = said.get("Global rank start"), said.get("Global rank stride")
    if type(start) is int and type(stride) is int and start >= 0 and stride > 0:
        return start + int(place) * stride
    return None
