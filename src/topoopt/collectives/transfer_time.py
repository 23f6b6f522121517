"""The law of one un-contended transfer, split into fixed overhead and link occupancy.

A connection is opened with a 1-byte packet, then the bytes follow in packets of 8936 bytes, store and
forward at every hop. Over ``h`` equal hops of ``p`` seconds per byte and latency ``L``::

    T = h·(p + L) + npkt·8936·p + (h - 1)·8936·p + h·L

The part ``npkt·8936·p`` occupies a link, for which transfers compete; the rest is fixed. Every simulator uses this
split, so they agree wherever nothing contends.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from topoopt.base.arrays import Floats, Ints

PACKET_BYTES = 8936
"""Payload of one packet on links with an MTU of 9000 bytes (TopoOpt section 5.1: 9000-byte packets)."""


@dataclass(frozen=True, slots=True)
class PathOverhead:
    """Fixed seconds of a path: before the first data byte may leave, and after the last has left."""

    before_s: float
    after_s: float

    @property
    def total_s(self) -> float:
        """Seconds that one transfer spends without occupying its slowest link."""
        return self.before_s + self.after_s


def packets(size_bytes: ArrayLike) -> Ints:
    """Return the packets of a transfer, at least one: ``max(1, ceil((max(bytes, 8936) - 1) / 8936))``.

    Examples
    --------
    >>> packets([0, 8936, 8938, 10_000_000]).tolist()
    [1, 1, 2, 1120]
    """
    size = np.maximum(np.asarray(size_bytes, np.int64), PACKET_BYTES) - 1
    count: Ints = np.maximum(1, -(-size // PACKET_BYTES))
    return count


def occupancy_bytes(size_bytes: ArrayLike) -> Ints:
    """Return the bytes for which a transfer holds each link of its path: whole packets."""
    return packets(size_bytes) * PACKET_BYTES


def path_overhead(bandwidth_bps: ArrayLike, latency_s: ArrayLike) -> PathOverhead:
    """Return the fixed overhead of a path from its links' bandwidths and latencies, shape (hops,)."""
    bandwidth = np.atleast_1d(np.asarray(bandwidth_bps, np.float64))
    latency = np.broadcast_to(np.asarray(latency_s, np.float64), bandwidth.shape)
    first = np.array([0, len(bandwidth)], np.int64)
    before, after = path_overheads(bandwidth, latency, np.ones(len(bandwidth)), first)
    return PathOverhead(float(before[0]), float(after[0]))


def path_overheads(
    bandwidth_bps: Floats, latency_s: Floats, share: Floats, first: Ints
) -> tuple[Floats, Floats]:
    """Return seconds before and after the data of many paths, by rows of links.

    Where links differ the slowest one serializes all packets; each other link adds one packet's time.

    Parameters
    ----------
    bandwidth_bps, latency_s, share : arrays, shape (entries,)
        Links of each path; ``share`` is 1, or the part of a spread transfer that crosses the link, which
        gives the mean over its paths.
    first : int64 array, shape (paths+1,)
        Path k has the entries ``first[k] : first[k+1]``, at least one.
    """
    starts, byte_s = first[:-1], 8.0 / bandwidth_bps
    if not len(starts):
        return np.zeros(0), np.zeros(0)
    sum_byte_s = np.add.reduceat(share * byte_s, starts)
    sum_latency_s = np.add.reduceat(share * latency_s, starts)
    slowest_byte_s = np.maximum.reduceat(byte_s, starts)
    return sum_byte_s + sum_latency_s, PACKET_BYTES * (sum_byte_s - slowest_byte_s) + sum_latency_s


def transfer_time_s(size_bytes: int, bandwidth_bps: ArrayLike, latency_s: ArrayLike) -> float:
    """Return the seconds of one un-contended transfer over a path.

    Parameters
    ----------
    size_bytes : int
    bandwidth_bps, latency_s : array_like, shape (hops,)

    Examples
    --------
    >>> f"{transfer_time_s(10_000_000, [100e9], [1e-6]) * 1e3:.9f} ms"
    '0.802665680 ms'
    """
    slowest_bps = float(np.min(np.asarray(bandwidth_bps, np.float64)))
    occupied_s = float(occupancy_bytes(size_bytes)) * 8.0 / slowest_bps
    return path_overhead(bandwidth_bps, latency_s).total_s + occupied_s
