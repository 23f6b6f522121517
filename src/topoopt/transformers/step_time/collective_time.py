"""Link rates and latencies of systems as columns, and the time of collectives in groups of ranks.

A hierarchical ring has one ring inside each server and rings of equal ranks between servers. Both levels are pipelined:
the slower level determines the rate, and the latencies of both add up. Each rank has a NIC, so the server with the
fewest ranks of a group determines the rate between servers. Step latencies are NCCL's (hwLat of Ring/Simple: 3.4 µs
over NVLINK, 14 µs over NET; nccl v2.30, src/graph/tuning.cc, Apache-2.0). For larger groups NCCL takes double binary
trees, whose number of steps grows with the logarithm of the group size.

A pipelined collective with latency L and wire time W takes ``L + W + 2·sqrt(L·W)`` with the best chunk size (Johnsson
and Ho 1989; from memory). NCCL forwards smaller slices: ``L + W + sqrt(L·W)`` predicts 140 published rows of nccl-tests
from 64 MiB with a mean error of 7.1% (``benchmarks/data/collectives.csv``); the error of 20 of them exceeds 15%.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import PRECISIONS, find_accelerator, host_bytes_per_s
from topoopt.transformers.communication.ranks import ServerGroup, ServerPairs
from topoopt.transformers.configuration_table import Bools
from topoopt.transformers.step_time.calibration import Calibration, peak_rates
from topoopt.transformers.system import System
from topoopt.workloads import RING_PASSES, bus_bandwidth_factor

WITH_FLASH_ATTENTION_2 = ("Volta", "Turing", "Ampere", "Ada", "Blackwell GB")
"""Beginnings of the architectures for which FlashAttention 2 is the fastest fused attention: of Blackwell, not the
parts for data centers."""
BARE_EXPONENTIALS = 0.67
"""Share of the exponentials that matrix products do not hide in newer kernels (``benchmarks/attention_kernels.py``)."""
PRODUCTS_OF_AN_EXPONENTIAL = {"Blackwell": 128.0}
"""Head size whose two forward products take as long as one exponential, per architecture: FLOPs per clock of a
multiprocessor over 4 times its exponentials. Blackwell has 8,192 and 16 (Zadouri 2026, "FlashAttention-4")."""
USUAL_PRODUCTS = 64.0
"""The same for Hopper (4,096 and 16) and Blackwell Ultra (8,192 and 32); assumed for other architectures."""


def exponential_width(architecture: str) -> float:
    """Return the head size whose products take as long as the exponentials that they do not hide.

    FlashAttention 2 overlaps neither, which its efficiency accounts for: 0.

    Examples
    --------
    >>> exponential_width("Blackwell") == 2 * exponential_width("Hopper"), exponential_width("Ampere")
    (True, 0.0)
    """
    if architecture.startswith(WITH_FLASH_ATTENTION_2):
        return 0.0
    return BARE_EXPONENTIALS * PRODUCTS_OF_AN_EXPONENTIAL.get(architecture, USUAL_PRODUCTS)


@dataclass(frozen=True, eq=False)
class Machine:
    """Rates of systems, each a float64 array of shape () for one system or (rows,) for one system per row.

    Attributes
    ----------
    peak_flops : array, shape (precisions, ...)
        Peak rate by index into :data:`~topoopt.catalog.PRECISIONS`; the 16-bit rate for unsupported precisions.
    memory_bytes_per_s, scale_up_bytes_per_s, network_bytes_per_s : array
        Bandwidth per accelerator; of links, in one direction.
    per_server : array
        Accelerators per scale-up domain.
    latency_s : array
        Latency per hop of the network.
    host_bytes_per_s : array
        Bandwidth to host memory per direction; NaN if unknown.
    newer_kernels : array
        1 if Megatron's fused attention is newer than PyTorch's, 0 if both are FlashAttention 2. Since Hopper it is
        cuDNN's or FlashAttention 3 (Shah 2024, figure 5).
    exponential_width : array
        Result of :func:`exponential_width`.
    """

    peak_flops: Floats
    memory_bytes_per_s: Floats
    scale_up_bytes_per_s: Floats
    network_bytes_per_s: Floats
    per_server: Floats
    latency_s: Floats
    host_bytes_per_s: Floats
    newer_kernels: Floats
    exponential_width: Floats


SCALE_UP_STEP_S = 3.4e-6
NETWORK_STEP_S = 14e-6
DIRECT_STEP_S = 4e-6
DIRECT_SHARE = 0.72
"""Start of a round of an AllReduce kernel that reads the others' memory, and its share of a ring's rate: 7.8% off on
average of 18 measured times on H100 (TensorRT-LLM's kernel, sgl-project/sglang #2904)."""


class Links:
    """Calibrated rates and latencies of the links, for the collectives of many configurations."""

    def __init__(
        self, machine: Machine, calibration: Calibration, accelerators: Floats | Ints | None = None
    ) -> None:
        self.per_server = machine.per_server
        self.accelerators = accelerators
        self.start_s = calibration.collective_latency_s
        self.scale_up_s_per_byte = 1 / (machine.scale_up_bytes_per_s * calibration.scale_up_efficiency)
        self.network_bytes_per_s = machine.network_bytes_per_s
        self.network_s_per_byte = 1 / (machine.network_bytes_per_s * calibration.network_efficiency)
        self.exchange_s_per_byte = 1 / (machine.network_bytes_per_s * calibration.exchange_efficiency)
        self.network_step_s = NETWORK_STEP_S + machine.latency_s

    def spread(self, size: Floats, stride: Floats) -> tuple[Floats, Floats]:
        """Return how many of ``size`` ranks, ``stride`` apart, are in the server with the most and with the fewest.

        Groups follow one another and fill servers in order. Where neither size divides the other, some groups begin or
        end inside a server, and the others wait for the one that has the smallest part there: 16 ranks on racks of 72
        are 8 and 8, 12 ranks on servers of 8 are 8 and 4.
        """
        inside: Floats = np.clip(np.floor(self.per_server / stride), 1.0, size)
        span, full = np.rint(size * stride), self.per_server
        uneven = (span % full > 0) & (full % span > 0)
        if not np.any(uneven):
            return inside, inside
        groups = np.maximum((span if self.accelerators is None else self.accelerators) // span, 1)
        part = np.minimum(span, full)
        for group in range(1, int(min(np.max(groups), np.max(full))) + 1):  # ends repeat after as many
            end = group * span % full
            part = np.where((end > 0) & (group <= groups), np.minimum(part, end), part)
            part = np.where((end > 0) & (group < groups), np.minimum(part, full - end), part)
        fewest = np.where(uneven, np.clip(np.floor(part / stride + 1e-9), 1.0, inside), inside)
        straddles = uneven & (span < full) & (fewest < size)
        return np.where(straddles, np.maximum(size - fewest, fewest), inside), fewest

    def members_inside(self, size: Floats, stride: Floats) -> Floats:
        """Return how many of ``size`` ranks, ``stride`` apart, share the server that has most of them."""
        return self.spread(size, stride)[0]

    def around_s_per_byte(
        self, size: Floats | float, inside: Floats | float, fewest: Floats | float
    ) -> Floats:
        """Return the time per byte of a hierarchical ring, which is that of its slower level.

        Parameters
        ----------
        inside, fewest
            Ranks in the server with the most, and in the one with the fewest.
        """
        inner = bus_bandwidth_factor("all-gather", inside) * self.scale_up_s_per_byte
        outer = (size / fewest - 1) / size * self.network_s_per_byte
        return np.asarray(np.maximum(inner, outer), np.float64)

    def gather_s(
        self, size: Floats, stride: Floats, size_bytes: Floats, passes: Floats | float = 1.0
    ) -> Floats:
        """Return the time of an all-gather or a reduce-scatter of ``size_bytes`` in total; 0 for groups of one.

        With 2 ``passes`` it is an AllReduce, which starts once and does both.
        """
        inside, fewest = self.spread(size, stride)
        steps = self.steps_s(inside, _servers(size, inside), self.network_step_s)
        wire_s = size_bytes * self.around_s_per_byte(size, inside, fewest)
        return np.where(size > 1, pipelined_s(self.start_s + passes * steps, passes * wire_s), 0.0)

    def allreduce_terms(self, size: Floats, stride: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return latency and time per byte of NCCL's AllReduce, then those of a round of kernels, per byte read."""
        inside, fewest = self.spread(size, stride)
        latency_s = self.start_s + 2 * self.steps_s(inside, _servers(size, inside), self.network_step_s)
        direct = np.where(size > inside, np.inf, self.scale_up_s_per_byte / DIRECT_SHARE)
        s_per_byte = 2 * self.around_s_per_byte(size, inside, fewest)
        return latency_s, s_per_byte, np.full_like(size, DIRECT_STEP_S), direct

    def steps_s(
        self, inside: Floats | float, servers: Floats | float, network_step_s: Floats | float
    ) -> Floats:
        """Return the latency of the steps inside servers and between them, by a ring or a tree, whichever has fewer."""
        within, between = (np.minimum(count - 1, 2 * np.log2(count)) for count in (inside, servers))
        return np.asarray(SCALE_UP_STEP_S * within + network_step_s * between, np.float64)

    def ring_gather_s(
        self,
        size: Floats,
        stride: Floats,
        size_bytes: Floats,
        messages: Ints | int = 1,
        flat: Bools | bool = False,
    ) -> Floats:
        """Return the time of an all-gather or a reduce-scatter by NCCL, which takes rings of all ranks, never trees.

        Parameters
        ----------
        messages
            Number of collectives into which the bytes are divided.
        flat
            Whether there is a single ring, which enters each server through one NIC, instead of one ring per NIC.
        """
        inside, fewest = self.spread(size, stride)
        servers = _servers(size, inside)
        steps = self.steps_s(inside, servers, self.network_step_s)
        further = SCALE_UP_STEP_S * (size - servers) + self.network_step_s * (servers - 1) - steps
        wire = self.around_s_per_byte(size, inside, fewest)
        if np.any(flat):
            one_ring = np.where(
                servers > 1, bus_bandwidth_factor("all-gather", size) * self.network_s_per_byte, wire
            )
            wire = np.where(flat, one_ring, wire)
        one_s = further + pipelined_s(self.start_s + steps, size_bytes * wire / messages)
        return np.where(size > 1, messages * one_s, 0.0)

    def ring_s(self, size: Floats, stride: Floats, size_bytes: Floats) -> Floats:
        """Return the time of a ring in which each member forwards one part of ``size_bytes`` per hop.

        Each hop is a transfer with its own start. Between servers one member sends at a time, over the NICs of all
        members of its server; hops inside servers proceed concurrently.
        """
        inside, fewest = self.spread(size, stride)
        hop = self.start_s + np.where(size / inside > 1, self.network_step_s, SCALE_UP_STEP_S)
        wire = bus_bandwidth_factor("all-gather", size) * self._wire(size, inside, fewest, "ring")[0]
        return np.asarray((size - 1) * hop + size_bytes * wire, np.float64)

    def _wire(
        self, size: Floats | float, inside: Floats | float, fewest: Floats | float, pattern: str
    ) -> tuple[Floats, Floats | float]:
        """Return the time per byte that each rank sends, in a ring or to all ranks, and its share on the network."""
        if pattern == "ring":
            inner, between = np.minimum(inside - 1, 1.0), np.where(size > inside, 1 / fewest, 0.0)
        else:
            inner, between = np.asarray((inside - 1) / size), np.asarray((size - fewest) / size)
        return np.maximum(inner * self.scale_up_s_per_byte, between * self.network_s_per_byte), between

    def beyond_network_s_per_byte(self, size: int, inside: float, fewest: float, pattern: str) -> float:
        """Return the time per byte beyond that of the network at full rate.

        The ``pattern`` is ``ring``, ``all-to-all``, or ``transfer`` to another server.
        """
        full = 1 / float(self.network_bytes_per_s)
        if pattern == "transfer":
            return float(self.network_s_per_byte) - full
        wire, between = self._wire(float(size), inside, fewest, pattern)
        return float(wire - between * full)

    def exchange_start_s(self, size: Floats, inside: Floats) -> Floats:
        """Return the startup time of an all-to-all with ``inside`` ranks per server."""
        latency = self.start_s + SCALE_UP_STEP_S * (inside - 1) + self.network_step_s * (size > inside)
        return np.asarray(latency, np.float64)

    def exchange_s(self, size: Floats, stride: Floats, sent_bytes: Floats) -> Floats:
        """Return the time of an all-to-all in which each rank sends ``sent_bytes``, evenly divided among the ranks."""
        inside, fewest = self.spread(size, stride)
        wire, _ = self._wire(size, inside, fewest, "all-to-all")
        return np.where(size > 1, self.exchange_start_s(size, inside) + sent_bytes * wire, 0.0)

    def transfer_s(self, stride: Floats, size_bytes: Floats) -> Floats:
        """Return the time of a transfer to the rank that is ``stride`` ranks away."""
        near = stride < self.per_server
        rate = np.where(near, self.scale_up_s_per_byte, self.network_s_per_byte)
        return self.start_s + np.where(near, SCALE_UP_STEP_S, self.network_step_s) + size_bytes * rate

    def inside_ring_s(self, collective: str, group: ServerGroup, size_bytes: float, count: float) -> float:
        """Return the time of ``count`` ring collectives without the network, in seconds.

        The total is ``size_bytes`` per rank. Excluded are the wire time of the network at full rate and the latency of
        its links.
        """
        servers, inside = np.float64(len(group.members)), np.float64(group.inside)
        latency = self.start_s + self.steps_s(inside, servers, NETWORK_STEP_S)
        wire_s = (
            size_bytes
            / count
            * float(self.around_s_per_byte(float(group.ranks), inside, float(group.fewest)))
        )
        pipelined = RING_PASSES[collective] * count * float(pipelined_s(latency, wire_s))
        return pipelined - self._ring_nic_s(collective, group, size_bytes)

    def _ring_nic_s(self, collective: str, group: ServerGroup, size_bytes: float) -> float:
        parts = group.ranks / group.fewest
        sent_bytes = RING_PASSES[collective] * size_bytes * (parts - 1) / group.ranks
        return sent_bytes / float(self.network_bytes_per_s)

    def ring_nic_s(self, collective: str, group: ServerGroup, size_bytes: float) -> float:
        """Return the time of a rank's NIC in ring collectives of ``size_bytes`` per rank.

        It is 0 where ranks of all NICs of a server take part, and the server's interfaces are the limit.
        """
        alone = group.groups * group.fewest < self.per_server
        return self._ring_nic_s(collective, group, size_bytes) if alone else 0.0

    def pair_nic_s(self, group: ServerPairs) -> float:
        """Return the same of an exchange in pairs."""
        sent_bytes = float((group.pair_bytes.sum(axis=1) / group.ranks).max())
        return sent_bytes / float(self.network_bytes_per_s) if group.ranks.min() < self.per_server else 0.0

    def starts_s(self, count: float, inside: float = 1.0) -> float:
        """Return the startup time of ``count`` transfers between servers without the latency of the links.

        In an all-to-all ``inside`` ranks share a server.
        """
        return count * (self.start_s + SCALE_UP_STEP_S * (inside - 1) + NETWORK_STEP_S)


def _servers(size: Floats, inside: Floats) -> Floats:
    return np.asarray(np.where(size > inside, np.maximum(size / inside, 2.0), 1.0), np.float64)


def allreduce_s(size_bytes: Floats, ranks: Floats, terms: Sequence[Floats]) -> Floats:
    """Return the time of an AllReduce by NCCL or by kernels of inference engines, whichever is faster; 0 for one rank.

    Each rank reads everything of all others in one round, or in two a part of it. Terms are of ``allreduce_terms``.
    """
    latency_s, s_per_byte, direct_step_s, direct_s_per_byte = terms
    rings = pipelined_s(latency_s, size_bytes * s_per_byte)
    read_s = size_bytes * (ranks - 1) * direct_s_per_byte
    direct = np.minimum(direct_step_s + read_s, 2 * (direct_step_s + read_s / ranks))
    return np.where(ranks > 1, np.fmin(rings, direct), 0.0)


def pipelined_s(latency_s: Floats | float, wire_s: Floats | float) -> Floats:
    """Return the time of a pipelined collective, from its latency and its wire time.

    Examples
    --------
    >>> round(float(pipelined_s(1e-6, 100e-6)) * 1e6)
    111
    """
    return np.asarray(latency_s + wire_s + np.sqrt(latency_s * wire_s), np.float64)


def machine_of(system: System) -> Machine:
    """Return the columns of one system, without a row axis."""
    peaks, others = _row(system)
    return Machine(np.array(peaks), *np.array(others))


def stacked_machines(systems: Sequence[System]) -> Machine:
    """Return the columns of one system per row."""
    rows = {system: _row(system) for system in set(systems)}
    peaks = np.array([rows[system][0] for system in systems]).T
    return Machine(peaks, *np.array([rows[system][1] for system in systems], np.float64).T)


def sixteen_bit_flops(accelerator: str) -> float:
    """Return the dense 16-bit rate of an accelerator: bf16 if supported, else fp16.

    Raises
    ------
    InvalidInput
        If neither rate is known, nor that of a related accelerator.
    """
    peaks = peak_rates(accelerator)
    return peaks.get("bf16", peaks.get("fp16", 0.0))


def _row(system: System) -> tuple[list[float], tuple[float, ...]]:
    part = find_accelerator(system.accelerator)
    usual = sixteen_bit_flops(system.accelerator)
    known = peak_rates(system.accelerator)
    faster = max(usual, known.get("fp8", usual))
    peaks = [known.get(name, faster if name == "fp4" else usual) for name in PRECISIONS]
    return peaks, (
        part.memory_bandwidth_bytes_per_s,
        system.scale_up_bandwidth_bps / 8,
        system.network_bandwidth_bps / 8,
        float(system.accelerators_per_server),
        system.network_latency_s,
        host_bytes_per_s(part) or np.nan,
        float(not part.architecture.startswith(WITH_FLASH_ATTENTION_2)),
        exponential_width(part.architecture),
    )
