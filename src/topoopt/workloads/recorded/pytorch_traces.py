"""Traces of ``torch.profiler``: their collectives as a recording.

References
----------
.. [1] github.com/pytorch/pytorch, ``torch/csrc/profiler/util.cpp`` (``saveNcclMeta``): the arguments of an event; and
   ``torch/profiler/profiler.py`` (``_get_distributed_info``): the content of ``distributedInfo``.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.workloads.recorded.recording import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    MOST_RANKS,
    RECEIVE,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
    TORCH_BYTES,
    Call,
    Calls,
    DeviceTimes,
    Recording,
)

NOTE = "record_param_comms"
NAME = "Collective name"
OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("allreduce", "all_reduce", "allreduce_coalesced"), ALL_REDUCE),
    **dict.fromkeys(("allgather", "all_gather", "_allgather_base", "all_gather_into_tensor"), ALL_GATHER),
    **dict.fromkeys(("allgather_coalesced", "allgather_into_tensor_coalesced"), ALL_GATHER),
    **dict.fromkeys(("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor"), REDUCE_SCATTER),
    "reduce_scatter_tensor_coalesced": REDUCE_SCATTER,
    **dict.fromkeys(("broadcast", "_broadcast_oop"), BROADCAST),
    **dict.fromkeys(("reduce", "_reduce_oop"), REDUCE),
    "gather": GATHER,
    "scatter": SCATTER,
    **dict.fromkeys(("all_to_all", "all_to_allv", "alltoall", "alltoall_base"), ALL_TO_ALL),
    "send": SEND,
    "recv": RECEIVE,
}
"""Names of collectives in the profiler, mapped to ours."""
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of events in which an accelerator works."""
_COMMUNICATES = re.compile(r"(nccl|rccl)", re.IGNORECASE)
_MICRO = 1e-6
"""Times of a trace are microseconds."""
SILENT = ("wait", "init", "barrier", "monitored_barrier", "start_coalescing", "end_coalescing", "coalesced")
"""Entries that move nothing, or a few bytes; coalesced calls have entries of their own."""


def is_profiler_trace(content: object) -> bool:
    """Return whether the content of a JSON file is such a trace."""
    return isinstance(content, Mapping) and isinstance(content.get("traceEvents"), list)


def profiler_recording(traces: Sequence[tuple[str, Mapping[str, Any]]], place: str) -> Recording:
    """Return the recording in the traces of some ranks; ``traces`` are files and their content.

    Each has its rank and all process groups under ``distributedInfo``. The iterations are the steps of the profiler.

    Raises
    ------
    InvalidInput
        If there are no collectives, one is unknown or of an unknown type, two traces are of one rank, or a group is
        missing.
    """
    calls, seen, accelerators, steps = Calls(), dict[int, str](), 0, set[int]()
    devices = []
    for name, content in traces:
        trace = _Trace(name, content)
        if trace.rank in seen:
            raise InvalidInput(f"{name}: is of rank {trace.rank}, as {seen[trace.rank]} is; one trace a rank")
        seen[trace.rank] = name
        accelerators = max(accelerators, trace.accelerators)
        steps.add(trace.steps())
        for call, size_bytes in trace.calls():
            calls[call] += size_bytes
        if (times := trace.times()) is not None:
            devices.append(times)
    if not calls:
        old = any(event.get("name") == NOTE for _, content in traces for event in _events(content))
        why = (
            f"its collectives ({NOTE}) have no sizes, which PyTorch writes since 2.2; record again with that, or write "
            "NCCL's log (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL)"
            if old
            else f"no event has a {NAME!r}; record with torch.profiler on accelerators, over NCCL"
        )
        raise InvalidInput(f"{place}: no collectives: {why}")
    if len(steps) > 1:
        raise InvalidInput(
            f"{place}: the traces are of {min(steps)} to {max(steps)} steps; record as many on all"
        )
    what = "torch.profiler's traces" if len(traces) > 1 else "torch.profiler's trace"
    return Recording(
        what, place, accelerators, calls, frozenset(seen), iterations=steps.pop(), devices=tuple(devices)
    )


class _Trace:
    def __init__(self, place: str, content: Mapping[str, Any]) -> None:
        self.place = place
        self.events = _events(content)
        about = content.get("distributedInfo")
        self.about: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
        self.rank = self._whole(self.about.get("rank", 0), "distributedInfo.rank")
        self.groups = self._groups()
        ranks = [rank for members in self.groups.values() for rank in members]
        world = self._whole(self.about.get("world_size", 0), "distributedInfo.world_size")
        self.accelerators = max([world, self.rank + 1, *(rank + 1 for rank in ranks)])

    def steps(self) -> int:
        """Return the number of profiler steps; 0 where it was not stepped."""
        names = (event.get("name") for event in self.events)
        return len({name for name in names if isinstance(name, str) and name.startswith("ProfilerStep#")})

    def calls(self) -> list[tuple[Call, int]]:
        """Return the calls of the rank: as recorded on the host, else from the kernels."""
        noted = [event for event in self.events if NAME in _arguments(event)]
        by_host = [event for event in noted if event.get("name") == NOTE]
        return [call for event in by_host or noted for call in self._of_event(_arguments(event))]

    def times(self) -> DeviceTimes | None:
        """Return the kernel times; None where the trace has none, such as one of a CPU."""
        compute, sent = [], defaultdict[tuple[int, ...], list[tuple[float, float]]](list)
        for event in self.events:
            when = _interval_s(event)
            if when is None or event.get("cat") not in DEVICE_WORK:
                continue
            said = _arguments(event)
            if NAME in said or _COMMUNICATES.match(str(event.get("name", ""))):
                sent[self._members_or_none(said)].append(when)
            else:
                compute.append(when)
        if not compute:
            return None
        steps = [
            when
            for event in self.events
            if str(event.get("name", "")).startswith("ProfilerStep#")
            and not str(event.get("cat", "")).startswith("gpu")
            and (when := _interval_s(event)) is not None
        ]
        whole = steps or [*compute, *(when for group in sent.values() for when in group)]
        span_s = max(end for _, end in whole) - min(begin for begin, _ in whole)
        groups = tuple((members, np.array(kernels)) for members, kernels in sent.items())
        return DeviceTimes(np.array(compute), groups, span_s)

    def _members_or_none(self, said: Mapping[str, Any]) -> tuple[int, ...]:
        try:
            return self._members(said, NAME)
        except InvalidInput:
            return ()  # older traces do not say it with a kernel

    def _of_event(self, said: Mapping[str, Any]) -> list[tuple[Call, int]]:
        name = str(said[NAME])
        if name in SILENT:
            return []
        if name not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise InvalidInput(f"{self.place}: {NAME} {shown(name)}: is not known; known are {known}")
        kind = OPERATIONS[name]
        one_bytes = TORCH_BYTES.get(str(said.get("dtype", "")))
        if one_bytes is None:
            raise InvalidInput(f"{self.place}: {name}: dtype {shown(said.get('dtype'))} is not known")
        sent = one_bytes * self._whole(said.get("In msg nelems", 0), f"{name}: In msg nelems")
        came = one_bytes * self._whole(said.get("Out msg nelems", 0), f"{name}: Out msg nelems")
        if kind == SEND:
            return [(Call(self.rank, SEND, (), self._peer(said, "Dst Rank", name)), sent)]
        if kind == RECEIVE:
            return [(Call(self.rank, RECEIVE, (), self._peer(said, "Src Rank", name)), came or sent)]
        members = self._members(said, name)
        if kind == ALL_TO_ALL:
            return self._exchange(said, members, sent)
        if kind in (GATHER, SCATTER):
            root = self._whole(said.get("Rank", 0), f"{name}: Rank")
            part = sent if kind == GATHER else came
            return [(Call(self.rank, kind, members, members[min(root, len(members) - 1)]), part)]
        return [
            (Call(self.rank, kind, members), {ALL_GATHER: came, REDUCE_SCATTER: sent}.get(kind, sent or came))
        ]

    def _exchange(
        self, said: Mapping[str, Any], members: tuple[int, ...], sent: int
    ) -> list[tuple[Call, int]]:
        """Return an all-to-all if its shares are equal, else its messages."""
        split = _numbers(said.get("In split size"))
        rows = sum(split)
        if len(split) != len(members) or not rows or len(set(split)) == 1:
            return [(Call(self.rank, ALL_TO_ALL, members), sent // len(members))]
        pairs = zip(members, split, strict=True)
        return [(Call(self.rank, SEND, (), peer), sent * part // rows) for peer, part in pairs]

    def _members(self, said: Mapping[str, Any], name: str) -> tuple[int, ...]:
        """Return a group: as ``distributedInfo`` or the event lists it, or by its first rank and stride."""
        listed = self.groups.get(str(said.get("Process Group Name", "")))
        if listed:
            return listed
        ranks, size = _numbers(said.get("Process Group Ranks")), said.get("Group size", 0)
        if ranks and (len(ranks) == size or not size):
            return tuple(sorted(ranks))
        start, stride = said.get("Global rank start"), said.get("Global rank stride")
        if (
            type(start) is int
            and type(stride) is int
            and type(size) is int
            and 0 < size <= MOST_RANKS
            and stride > 0 <= start
        ):
            return tuple(range(start, start + size * stride, stride))
        raise InvalidInput(
            f"{self.place}: {name} in process group {shown(said.get('Process Group Name', ''))}: its ranks are "
            "not said; record with a PyTorch that writes distributedInfo"
        )

    def _peer(self, said: Mapping[str, Any], key: str, name: str) -> int:
        """Return the other end of a message; its number in the group is in ``Rank``."""
        if key in said:
            return self._whole(said[key], f"{name}: {key}")
        members = self._members(said, name)
        return members[min(self._whole(said.get("Rank", 0), f"{name}: Rank"), len(members) - 1)]

    def _groups(self) -> dict[str, tuple[int, ...]]:
        listed = self.about.get("pg_config")
        rows = listed if isinstance(listed, list) else []
        found = {
            str(row.get("pg_name", "")): tuple(sorted(_numbers(row.get("ranks"))))
            for row in rows
            if isinstance(row, Mapping)
        }
        return {name: members for name, members in found.items() if members}

    def _whole(self, value: object, key: str) -> int:
        if type(value) is not int or value < 0:
            raise InvalidInput(f"{self.place}: {key}: expected a whole number >= 0, got {shown(value)}")
        return value


def _events(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [event for event in content["traceEvents"] if isinstance(event, Mapping)]


def _interval_s(event: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return begin and end of an event in seconds; None without a duration."""
    begin, duration = event.get("ts"), event.get("dur")
    if not isinstance(begin, int | float) or not isinstance(duration, int | float):
        return None
    if not (isfinite(begin) and 0 <= duration < float("inf")):
        return None
    return begin * _MICRO, (begin + duration) * _MICRO


def _arguments(event: Mapping[str, Any]) -> Mapping[str, Any]:
    said = event.get("args")
    return said if isinstance(said, Mapping) else {}


def _numbers(value: object) -> tuple[int, ...]:
    """Return the numbers of a list, or of one that is written as text; of a list that is cut short (``...``) none."""
    if isinstance(value, str):
        if "..." in value or not re.fullmatch(r"\[[\d,\s]*\]", value):
            return ()
        return tuple(map(int, re.findall(r"\d+", value)))
    if isinstance(value, list) and all(type(one) is int and one >= 0 for one in value):
        return tuple(value)
    return ()
