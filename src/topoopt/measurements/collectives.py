"""Measured collectives (nccl-tests): a CSV in, predictions of a calibration beside what was measured.

Ranks fill servers in order. A network that reduces in its switches (SHARP) is predicted as one that does not: the four
rows that are known are 14 % faster than predicted on H100 servers. An AllReduce that NVSwitches reduce (NVLS) is
faster by :data:`NVLS_GAIN` inside servers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.measurements.run_table import (
    MeasuredRuns,
    NotScored,
    RunColumns,
    TableRow,
    number,
    read_run_table,
    text,
    whole,
)
from topoopt.transformers import (
    Calibration,
    Links,
    System,
    stacked_machines,
    usual_system,
    written_accelerator,
)
from topoopt.workloads import RING_PASSES

NVLS_GAIN = 1.27
"""Rate of an AllReduce that NVSwitches add up over that of a ring, on full servers of H200 and B200: 480/367, 473/366
and 838/682 GB/s (stas00/ml-engineering, network/README.md)."""
ALGORITHMS = ("", "ring", "tree", "nvls")
COLUMNS = RunColumns("measurements", ("gpu", "ranks", "size_bytes", "time_us"))


@dataclass(frozen=True, slots=True)
class MeasuredCollective:
    """A collective that was measured, with the system's servers as full as its ranks make them.

    Attributes
    ----------
    size_bytes : float
        As nccl-tests counts: of an all-gather what is there after it, of a reduce-scatter what is there before.
    """

    row: TableRow
    system: System
    collective: str
    ranks: int
    size_bytes: float
    measured_s: float


def read_collectives(path: str | Path) -> MeasuredRuns[MeasuredCollective]:
    """Return the collectives of a CSV file in the schema of ``benchmarks/data/collectives.csv``.

    Raises
    ------
    InvalidInput
        If the file is not such a table. A row that cannot be predicted is no error; it is listed with the reason.
    """
    return read_run_table(path, COLUMNS).read(_collective_of)


def _collective_of(table_row: TableRow) -> MeasuredCollective:
    row = table_row.cells
    collective = text(row, "collective").replace("_", "-").replace("all-reduce", "allreduce")
    check_known("collective", collective, (*RING_PASSES, "all-to-all"))
    network, inside = number(row, "nic_gbps_per_gpu"), number(row, "scale_up_gbytes_per_s")
    algorithm = text(row, "algorithm").lower()
    check_known("algorithm", algorithm, ALGORITHMS)
    gain = NVLS_GAIN if algorithm == "nvls" and collective == "allreduce" else 1.0
    system = usual_system(
        written_accelerator(text(row, "gpu")),
        whole(row, "gpus_per_node"),
        None if np.isnan(inside) else inside * 8e9,
        None if np.isnan(network) else network * 1e9,
    )
    faster = replace(system, scale_up_bandwidth_bps=gain * system.scale_up_bandwidth_bps)
    ranks, time_us = whole(row, "ranks"), number(row, "time_us")
    if ranks < 2:
        raise InvalidInput(f"ranks: expected 2 or more, got {ranks}")
    if not time_us > 0:
        raise InvalidInput(f"time_us: expected a positive number, got {text(row, 'time_us') or 'nothing'}")
    return MeasuredCollective(table_row, faster, collective, ranks, whole(row, "size_bytes"), time_us / 1e6)


@dataclass(frozen=True, eq=False)
class MeasuredCollectives:
    """Collectives as columns."""

    collectives: Sequence[MeasuredCollective]

    def log_misses(self, calibration: Calibration) -> Floats:
        """Return the logarithms of predicted over measured times."""
        if not self.collectives:
            return np.zeros(0)
        measured = np.array([one.measured_s for one in self.collectives])
        return np.asarray(np.log(collective_times(self.collectives, calibration) / measured), np.float64)

    def take(self, rows: Ints) -> "MeasuredCollectives":
        """Return some of them."""
        return MeasuredCollectives([self.collectives[row] for row in rows])


def collective_times(collectives: Sequence[MeasuredCollective], calibration: Calibration) -> Floats:
    """Return the predicted seconds of each collective."""
    ranks = np.array([one.ranks for one in collectives], np.float64)
    size = np.array([one.size_bytes for one in collectives])
    names = [one.collective for one in collectives]
    links, stride = (
        Links(stacked_machines([one.system for one in collectives]), calibration, ranks),
        np.ones_like(ranks),
    )
    passes = np.array([RING_PASSES.get(name, 0) for name in names], np.float64)
    gathers = links.gather_s(ranks, stride, size, passes)
    return np.where(passes > 0, gathers, links.exchange_s(ranks, stride, size))


def accelerator_collectives(
    path: str, accelerators: Collection[str]
) -> tuple[MeasuredCollectives, tuple[NotScored, ...]]:
    """Return the collectives of some accelerators in a table, and the rows that cannot be predicted.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has no collective of the accelerators that can be predicted.
    """
    read = read_collectives(path)
    own = [one for one in read.runs if one.system.accelerator in accelerators]
    if own:
        return MeasuredCollectives(own), read.not_scored
    others = ", ".join(sorted({one.system.accelerator for one in read.runs}))
    if not others:
        others = f"none that can be predicted: {read.not_scored[0].reason} ({read.not_scored[0].row.name})"
    raise InvalidInput(f"{path}: no collective of {', '.join(sorted(accelerators))}; it has {others}")
