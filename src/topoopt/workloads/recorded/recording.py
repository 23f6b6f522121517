"""Recording, Calls and DeviceTimes: communication of the accelerators in a recorded training run.

The recorded kernel times give the iteration time on another network. There, communication between servers becomes
other traffic; computation, communication within servers and idle time stay. The share of communication that ran
beside computation is assumed to overlap again, as long as there is computation to hide it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput

NCCL_BYTES: Mapping[int, int] = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
"""Bytes per element by ``ncclDataType_t`` of ``nccl.h``: int8, uint8, int32, uint32, int64, uint64, half, float,
double, bfloat16, and the two of eight bits since NCCL 2.24."""
TORCH_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("Bool", "Byte", "Char"), 1),
    **dict.fromkeys(
        ("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "Float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("Short", "UInt16", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "UInt32", "Float", "ComplexHalf"), 4),
    **dict.fromkeys(("Long", "UInt64", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
"""Bytes per element by ``c10::ScalarType``, as PyTorch's profiler writes it."""


@dataclass(frozen=True, eq=False)
class DeviceTimes:
    """Kernel times of one accelerator.

    Attributes
    ----------
    compute : float64 array, shape (kernels, 2)
        Begin and end of each compute kernel, seconds.
    communication : tuple of (tuple of int, float64 array of shape (kernels, 2))
        Begin and end of each kernel by group; no ranks where the trace does not give them.
    span_s : float
        Duration of the recorded iterations.
    """

    compute: Floats
    communication: tuple[tuple[tuple[int, ...], Floats], ...]
    span_s: float


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """Parts of an iteration that do not depend on the network.

    Attributes
    ----------
    compute_s : float
        Iteration time without exposed communication between servers, of the slowest accelerator.
    hidden_share : float
        Share of the communication between servers that overlapped with other work, 0 to 1.
    exposed_s : float
        Exposed communication in the recording, of the accelerator that had most.
    """

    compute_s: float
    hidden_share: float
    exposed_s: float


ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE = (
    "allreduce",
    "all-gather",
    "reduce-scatter",
    "broadcast",
    "reduce",
)
GATHER, SCATTER, ALL_TO_ALL, SEND, RECEIVE = "gather", "scatter", "all-to-all", "send", "receive"


class Call(NamedTuple):
    """A repeated call by one accelerator; the bytes of all repetitions are summed.

    Attributes
    ----------
    kind : str
        ``allreduce``, ``broadcast``, ``reduce``: bytes of the buffer. ``all-gather``, ``reduce-scatter``: of all
        shards together. ``gather``, ``scatter``: of one member's part. ``all-to-all``: of a member's data for one
        other. ``send``, ``receive``: of the message.
    members : tuple of int
        Ranks of the group, ascending; of a message none.
    peer : int
        The other end of a message, the root of a gather or a scatter; -1 for all else.
    """

    rank: int
    kind: str
    members: tuple[int, ...] = ()
    peer: int = -1


Calls = Counter[Call]
"""Bytes by call."""
MOST_RANKS = 100_000
"""Upper limit on the ranks of a run; a file with more counts as damaged."""


@dataclass(frozen=True, eq=False)
class Recording:
    """All calls of a recording, and its hardware.

    Attributes
    ----------
    what : str
        Description of the kind of file.
    place : str
        The file or folder, for messages.
    accelerators : int
        Ranks of the run.
    calls : Calls
    recorded : frozenset of int
        Ranks that were recorded, whether they call anything or not.
    iterations : int
        Recorded iterations; 0 if unknown.
    servers : tuple of int
        The server of each rank; empty if unknown.
    devices : tuple of DeviceTimes
        Kernel times of the recorded ranks; empty if the recording has none.
    measured : bool
        Whether the times of communication were; else they are those of :func:`scale_up_s`.
    """

    what: str
    place: str
    accelerators: int
    calls: Calls
    recorded: frozenset[int]
    iterations: int = 0
    servers: tuple[int, ...] = ()
    devices: tuple[DeviceTimes, ...] = ()
    measured: bool = True

    def __post_init__(self) -> None:
        if self.accelerators > MOST_RANKS:
            raise InvalidInput(f"{self.place}: {self.accelerators} ranks, at most {MOST_RANKS} are read")


def scale_up_s(call: Call, size_bytes: int, scale_up_bps: float) -> float:
    """Return the time of a collective inside a server: the bytes that a member sends, at its scale-up bandwidth."""
    members = len(call.members)
    buffers = 2 if call.kind == ALL_REDUCE else members if call.kind in (ALL_TO_ALL, GATHER, SCATTER) else 1
    return buffers * (members - 1) / members * size_bytes * 8 / scale_up_bps


def iteration_times(
    devices: Sequence[DeviceTimes], servers: Sequence[int], iterations: int
) -> IterationTimes | None:
    """Return the times per iteration; None where kernel times were not recorded.

    Parameters
    ----------
    servers
        The server of each rank.
    """
    rows = []
    for device in devices:
        between, inside = [np.zeros((0, 2))], [device.compute]
        for members, kernels in device.communication:
            crosses = not members or len({servers[rank] for rank in members}) > 1
            (between if crosses else inside).append(kernels)
        sent, rest = _merged(np.concatenate(between)), _merged(np.concatenate(inside))
        exposed_s = _length_s(_merged(np.concatenate([sent, rest]))) - _length_s(rest)
        fixed_s = max(_length_s(rest), device.span_s - exposed_s)
        rows.append((fixed_s, _length_s(sent), exposed_s))
    if not rows or max(row[0] for row in rows) <= 0:
        return None
    fixed_s, sent_s, exposed_s = np.array(rows).T
    hidden = 1.0 - exposed_s.sum() / sent_s.sum() if sent_s.sum() > 0 else 0.0
    return IterationTimes(
        float(fixed_s.max()) / iterations,
        min(max(float(hidden), 0.0), 1.0),
        max(float(exposed_s.max()), 0.0) / iterations,
    )


def _merged(intervals: Floats) -> Floats:
    """Return intervals that do not touch and cover the same time.

    Examples
    --------
    >>> _merged(np.array([[4.0, 5.0], [0.0, 2.0], [1.0, 3.0]])).tolist()
    [[0.0, 3.0], [4.0, 5.0]]
    """
    if not len(intervals):
        return intervals
    rows = intervals[np.argsort(intervals[:, 0], kind="stable")]
    ends = np.maximum.accumulate(rows[:, 1])
    first = np.concatenate([[True], rows[1:, 0] > ends[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([rows[first, 0], ends[last]], axis=1)


def _length_s(intervals: Floats) -> float:
    return float((intervals[:, 1] - intervals[:, 0]).sum())
