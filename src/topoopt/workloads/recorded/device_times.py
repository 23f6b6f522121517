"""When accelerators computed and communicated, and what that makes of an iteration on another network.

Communication between servers becomes other traffic on another network; all else stays: computation, what servers send
inside of themselves, and the time in which an accelerator did nothing. Of communication the share that ran beside
computation is taken to do so again, as long as there is computation to hide it behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats


@dataclass(frozen=True, eq=False)
class DeviceTimes:
    """What one accelerator did, by its kernels.

    Attributes
    ----------
    compute : float64 array, shape (kernels, 2)
        Begin and end of each, seconds.
    communication : tuple of (tuple of int, float64 array of shape (kernels, 2))
        The same of each group; no ranks where the trace does not say them.
    span_s : float
        How long the recorded iterations took.
    """

    compute: Floats
    communication: tuple[tuple[tuple[int, ...], Floats], ...]
    span_s: float


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """What an iteration takes beside the network.

    Attributes
    ----------
    compute_s : float
        All but communication between servers that nothing hid, of the slowest accelerator.
    hidden_share : float
        Of the time of communication between servers: as much as ran beside something else, 0 to 1.
    exposed_s : float
        What nothing hid, in the recording; of the accelerator that had most.
    """

    compute_s: float
    hidden_share: float
    exposed_s: float


def iteration_times(
    devices: Sequence[DeviceTimes], servers: Sequence[int], iterations: int
) -> IterationTimes | None:
    """Return the times of one of so many iterations; None where nobody noted when kernels ran.

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
