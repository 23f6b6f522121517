"""PyTorch's execution traces (JSON of ``ExecutionTraceObserver``): their collectives, as the profiler writes them.

Such a trace says which operators ran with which inputs, and not when: bytes come of it, and no times.

References
----------
.. [1] github.com/pytorch/pytorch, ``torch/csrc/profiler/standalone/execution_trace_observer.cpp`` (attributes of a
   node ``record_param_comms``) and ``torch/csrc/distributed/c10d/ParamCommsUtils.hpp`` (its inputs, of which the fourth
   is the rank in the group; of messages and of what has a root the other end).
"""

import json
from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput

NOTE = "record_param_comms"
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
"""Attributes of a node, and what the profiler calls them."""
_OWN_RANK = frozenset(
    {
        *(
            "allreduce",
            "all_reduce",
            "all_gather",
            "_allgather_base",
            "reduce_scatter",
            "_reduce_scatter_base",
        ),
        *("all_to_all", "all_to_allv", "barrier", "wait", "init"),
    }
)
"""Collectives of which the rank is the caller's own."""


def is_execution_trace(content: object) -> bool:
    """Return whether the content of a JSON file is such a trace."""
    return (
        isinstance(content, Mapping)
        and isinstance(content.get("nodes"), list)
        and "chakra" in _schema(content)
    )


def as_profiler_trace(place: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the collectives of an execution trace as a trace of ``torch.profiler``.

    Raises
    ------
    InvalidInput
        If its collectives have no attributes, or it does not say which rank it is of.
    """
    nodes = [node for node in content["nodes"] if isinstance(node, Mapping)]
    groups = [row for node in nodes if node.get("name") == _GROUPS for row in _group_rows(node)]
    events: list[dict[str, Any]] = []
    ranks = []
    for node in nodes:
        name = str(node.get("name", ""))
        if name.startswith("ProfilerStep#"):
            events.append({"name": name})
        if name != NOTE:
            continue
        said = _said(node)
        if "Collective name" not in said:
            raise InvalidInput(
                f"{place}: {NOTE} without attributes ({_schema(content)}); record with PyTorch 2.4 or later"
            )
        events.append({"name": NOTE, "args": said})
        if said["Collective name"] in _OWN_RANK and (rank := _global_rank(said, groups)) is not None:
            ranks.append(rank)
    if events and not ranks:
        raise InvalidInput(f"{place}: does not say which rank it is of: no collective has its group's ranks")
    about: dict[str, Any] = {"pg_config": groups}
    if ranks:
        about["rank"] = max(set(ranks), key=ranks.count)
    return {"distributedInfo": about, "traceEvents": events}


def _schema(content: Mapping[str, Any]) -> str:
    return str(content.get("schema", ""))


def _group_rows(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the process groups, which stand as JSON in a text among the inputs."""
    found = []
    for value in _inputs(node):
        try:
            rows = json.loads(value) if isinstance(value, str) else None
        except ValueError:
            continue
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, Mapping) and isinstance(ranks := row.get("ranks"), list | dict):
                members = [int(rank) for rank in ranks if str(rank).isdecimal()]
                found.append({"pg_name": str(row.get("pg_name", "")), "ranks": members})
    return found


def _inputs(node: Mapping[str, Any]) -> list[Any]:
    inputs = node.get("inputs")
    values = inputs.get("values") if isinstance(inputs, Mapping) else inputs
    return values if isinstance(values, list) else []


def _said(node: Mapping[str, Any]) -> dict[str, Any]:
    rows = node.get("attrs")
    said = {
        _ATTRIBUTES[row["name"]]: row.get("value")
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and row.get("name") in _ATTRIBUTES
    }
    inputs = _inputs(node)
    if len(inputs) > 3 and type(inputs[3]) is int and inputs[3] >= 0:
        said["Rank"] = inputs[3]
    return said


def _global_rank(said: Mapping[str, Any], groups: list[dict[str, Any]]) -> int | None:
    """Return the rank of who calls; None where neither its group nor first rank and stride say it."""
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
