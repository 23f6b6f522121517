"""Workloads of SimAI, which AICB and ``topoopt export`` write: the layers of a training step, and what is sent.

The first line has the degrees of parallelism, the second the number of layers. A layer is a line: its name, -1, and of
the forward pass, of the gradient of its inputs and of that of its weights each the time in nanoseconds, a collective
and its bytes; then the time of the update, which is not read. A collective of the first two is of the ranks that share
tensors, one of the third of data-parallel ranks, unless its name ends in ``_EP`` or ``_DP_EP``.

References
----------
.. [1] github.com/aliyun/SimAI, ``astra-sim-alibabacloud/astra-sim/workload/Workload.cc``: the lines, and the group of
   each collective; ``system/MockNcclGroup.cc``: the ranks of a group.
.. [2] github.com/aliyun/aicb, ``workload_generator/SimAI_training_workload_generator.py``: what is written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST, whole_or_digits
from topoopt.schema.files import is_file
from topoopt.workloads.recorded.recording import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    MOST_RANKS,
    REDUCE_SCATTER,
    Call,
    Calls,
    DeviceTimes,
    Recording,
    scale_up_s,
)

KINDS: Mapping[str, str] = {
    "ALLREDUCE": ALL_REDUCE,
    "ALLGATHER": ALL_GATHER,
    "REDUCESCATTER": REDUCE_SCATTER,
    "ALLTOALL": ALL_TO_ALL,
}
PASSES = ("forward", "backward", "weights")
VALUES = 12
"""Values of a layer's line."""
_BEGINS = re.compile(
    r"\s*(?:HYBRID_TRANSFORMER(?:_FWD_IN_BCKWD)?|HYBRID_\w+|MICRO|DATA|MODEL)\b[^\n]*\n\s*\d+\s*\n"
)
_DEGREES = {"model_parallel_NPU_group": "tp", "ep": "ep", "pp": "pp", "all_gpus": "ranks"}
_NANO = 1e-9
_EXPECTED = (
    "expected HYBRID_TRANSFORMER_FWD_IN_BCKWD with model_parallel_NPU_group, ep, pp, all_gpus, as AICB has it"
)


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of a layer: its computation, then a collective (empty for none) of a group: TP, DP, EP or DP_EP."""

    layer: str
    name: str
    compute_s: float
    collective: str
    group: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SimaiWorkload:
    """The degrees of parallelism, and the passes in the order of a step: forward, then backward from the last layer."""

    place: str
    ranks: int
    tp: int
    ep: int
    passes: tuple[Pass, ...]

    def members(self, rank: int, group: str) -> tuple[int, ...]:
        """Return the ranks of the group that a rank belongs to, ascending."""
        tp, ep = self.tp, self.ep
        stride, size = {
            "TP": (1, tp),
            "DP": (tp, self.ranks // tp),
            "EP": (tp, ep),
            "DP_EP": (tp * ep, self.ranks // (tp * ep)),
        }[group]
        first = rank // (stride * size) * stride * size + rank % stride
        return tuple(range(first, first + stride * size, stride))

    def call(self, rank: int, one: Pass) -> tuple[Call, int]:
        """Return the collective of a pass, by no members where there is none, and its bytes as a call has them."""
        members = self.members(rank, one.group) if one.collective else ()
        part = len(members) if one.collective == ALL_TO_ALL else 1
        return Call(rank, one.collective, members), one.size_bytes // part


def is_simai_workload(path: str) -> bool:
    """Return whether a file begins as a workload of SimAI does."""
    try:
        with open(path if is_file(path) else "", "rb") as stream:
            return begins_as_workload(stream.read(1000).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return False


def begins_as_workload(text: str) -> bool:
    """Return whether a text begins as a workload of SimAI does."""
    return bool(_BEGINS.match(text[:1000]))


def simai_workload(text: str, place: str) -> SimaiWorkload:
    """Return the workload in a text.

    Raises
    ------
    InvalidInput
        With the line: for another parallelism than that of transformers, pipeline stages, degrees that do not fit
        together, another number of layers than stated, and a line that is no layer.
    """
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    words = lines[0][1]
    said = {key.rstrip(":"): value for key, value in pairwise(words)}
    if not words[0].startswith("HYBRID_TRANSFORMER") or not set(_DEGREES) <= set(said):
        raise InvalidInput(f"{place}: line 1: {shown(' '.join(words))}: {_EXPECTED}")
    degrees = {
        name: whole_or_digits(f"{place}: line 1: {key}", said[key], 1, MOST_RANKS)
        for key, name in _DEGREES.items()
    }
    ranks, tp, ep = degrees["ranks"], degrees["tp"], degrees["ep"]
    if degrees["pp"] > 1:
        raise InvalidInput(
            f"{place}: line 1: pp: {degrees['pp']}: pipeline stages are not read; give the model by its name, with as "
            "many of them, to topoopt plan"
        )
    if ranks % (tp * ep):
        raise InvalidInput(
            f"{place}: line 1: all_gpus {ranks} is no multiple of {tp} (tensor parallel) times ep {ep}"
        )
    count = whole_or_digits(f"{place}: line {lines[1][0]}: layers", lines[1][1][0], 1, LARGEST)
    if count != len(lines) - 2:
        raise InvalidInput(f"{place}: line {lines[1][0]}: says {count} layers, there are {len(lines) - 2}")
    layers = [_layer(fields, f"{place}: line {number}") for number, fields in lines[2:]]
    back = [one for _, inputs, weights in reversed(layers) for one in (weights, inputs)]
    return SimaiWorkload(place, ranks, tp, ep, (*(forward for forward, _, _ in layers), *back))


def _layer(fields: list[str], place: str) -> tuple[Pass, ...]:
    if len(fields) != VALUES:
        raise InvalidInput(f"{place}: expected {VALUES} values of a layer, got {len(fields)}")
    made = []
    for at, name in zip((2, 5, 8), PASSES, strict=True):
        time, said, size = fields[at : at + 3]
        here = f"{place}: {name}"
        kind, _, behind = said.partition("_")
        if said != "NONE" and (kind not in KINDS or behind not in ("", "EP", "DP_EP")):
            known = ", ".join(KINDS)
            raise InvalidInput(
                f"{here}: collective {shown(said)}: expected NONE, {known}, or these with _EP or _DP_EP"
            )
        group = behind or ("DP" if name == "weights" else "TP")
        compute_s = whole_or_digits(f"{here}: time", time, 0, LARGEST) * _NANO
        made.append(
            Pass(
                fields[0],
                name,
                compute_s,
                KINDS.get(kind, ""),
                group,
                whole_or_digits(f"{here}: bytes", size, 0, LARGEST),
            )
        )
    return tuple(made)


def simai_recording(workload: SimaiWorkload, scale_up_bps: float) -> Recording:
    """Return the calls of rank 0 in a step, with their times inside a server; all other ranks do the same in groups of
    theirs. Collectives of weights run beside later passes."""
    calls, computes, sends = Calls(), list[tuple[float, float]](), list[tuple[tuple[int, ...], Floats]]()
    now_s = free_s = 0.0
    for one in workload.passes:
        computes.append((now_s, now_s := now_s + one.compute_s))
        call, size_bytes = workload.call(0, one)
        if len(call.members) > 1:
            calls[call] += size_bytes
            begin_s = max(now_s, free_s)
            free_s = begin_s + scale_up_s(call, size_bytes, scale_up_bps)
            sends.append((call.members, np.array([[begin_s, free_s]])))
            now_s = now_s if one.name == "weights" else free_s
    devices = DeviceTimes(np.array(computes), tuple(sends), max(now_s, free_s))
    return Recording(
        "SimAI's workload",
        workload.place,
        workload.ranks,
        calls,
        frozenset({0}),
        iterations=1,
        devices=(devices,),
        measured=False,
    )
