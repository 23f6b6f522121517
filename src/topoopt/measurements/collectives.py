"""Measured collectives (nccl-tests): a CSV in, predictions of a calibration beside the measurements.

Ranks fill servers in order. A network that reduces in its switches (SHARP) is predicted as one that does not: the four
rows that are known are 14 % faster than predicted on H100 servers. An AllReduce that NVSwitches reduce (NVLS) is
faster by :data:`NVLS_GAIN` inside servers.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import MOST
from topoopt.base.units import format_bandwidth
from topoopt.catalog import find_accelerator
from topoopt.measurements.fit import Errors, errors_by, percent_off
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
    allreduce_s,
    find_calibration,
    stacked_machines,
    usual_system,
    written_accelerator,
)
from topoopt.workloads import RING_PASSES

NVLS_GAIN = 1.27
"""Rate of an AllReduce that NVSwitches reduce over that of a ring, on full servers of H200 and B200: 480/367, 473/366
and 838/682 GB/s (stas00/ml-engineering, network/README.md)."""
WITH_NVLS = ("Hopper", "Blackwell")
"""Architectures with NVLink SHARP."""
LARGEST_GAIN, LONGEST_S = 4.0, 100.0
"""Highest rate of a plausible row, over that of the scale-up links, and its longest time."""
ALGORITHMS = ("ring", "tree", "nvls")
ONE_SHOT = "one-shot"
COLUMNS = RunColumns("measurements", ("collective", "gpu", "gpus_per_node", "ranks", "size_bytes", "time_us"))
RATES, SLOWEST = ("nic_gbps_per_gpu", "scale_up_gbytes_per_s"), 1e-3
"""Columns of rates of links, and the least such rate."""


@dataclass(frozen=True, slots=True)
class MeasuredCollective:
    """A collective that was measured, with the system's servers as full as its ranks make them.

    Attributes
    ----------
    size_bytes : float
        Size as nccl-tests counts it: of the result of an all-gather, and of the input of a reduce-scatter.
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
        If the file is not such a table, or has an unknown column or a cell that cannot be right.
    """
    table, known = read_run_table(path, COLUMNS), ", ".join(dict.fromkeys(COLUMNS.names.values()))
    for name in table.unknown_columns:
        raise InvalidInput(
            f'{path}: line 1: unknown column "{name}"; rename it or leave it out; known: {known}'
        )
    return table.read(_collective_of, strict=True)


def _collective_of(table_row: TableRow) -> MeasuredCollective:
    row = table_row.cells
    collective = text(row, "collective").replace("_", "-").replace("all-reduce", "allreduce")
    check_known("collective", collective, (*RING_PASSES, "all-to-all"))
    network, inside = (number(row, column, least=SLOWEST) for column in RATES)
    algorithm = text(row, "algorithm").lower()
    if algorithm:
        check_known("algorithm", algorithm, ALGORITHMS)
    system = usual_system(
        written_accelerator(text(row, "gpu")),
        whole(row, "gpus_per_node"),
        None if np.isnan(inside) else inside * 8e9,
        None if np.isnan(network) else network * 1e9,
    )
    faster = with_nvls(system, collective) if algorithm == "nvls" else system
    ranks, time_us, most = whole(row, "ranks"), number(row, "time_us"), MOST["accelerators"]
    if not 2 <= ranks <= most:
        raise InvalidInput(f"ranks: expected a whole number from 2 to {most:,}, got {ranks:g}")
    nodes = -(-ranks // system.accelerators_per_server)
    if whole(row, "nodes", nodes) != nodes:
        raise InvalidInput(
            f"nodes: expected {nodes}, which the ranks fill, or no cell, got {text(row, 'nodes')}"
        )
    if not time_us > 0:
        raise InvalidInput(f"time_us: expected a positive number, got {text(row, 'time_us') or 'nothing'}")
    size_bytes = whole(row, "size_bytes")
    least_s = size_bytes / (LARGEST_GAIN * system.scale_up_bandwidth_bps / 8)
    if not least_s <= time_us / 1e6 <= LONGEST_S:
        raise InvalidInput(
            f"time_us: {time_us:g} for {size_bytes:,} bytes: expected {least_s * 1e6:.3g} to {LONGEST_S * 1e6:g}; "
            "links carry no more, and nccl-tests runs no longer"
        )
    return MeasuredCollective(table_row, faster, collective, ranks, size_bytes, time_us / 1e6)


def with_nvls(system: System, collective: str) -> System:
    """Return a system whose scale-up links are as fast as a collective is that NVSwitches reduce, if they can.

    Raises
    ------
    InvalidInput
        If its servers have no NVLink SHARP.
    """
    part = find_accelerator(system.accelerator)
    if not part.architecture.startswith(WITH_NVLS) or system.accelerators_per_server < 3:
        raise InvalidInput(
            f"nvls: {system.accelerators_per_server} × {part.name} a server have no NVLink SHARP, which servers of "
            f"{' and '.join(WITH_NVLS)} with NVSwitches have"
        )
    gain = NVLS_GAIN if collective == "allreduce" else 1.0
    return replace(system, scale_up_bandwidth_bps=gain * system.scale_up_bandwidth_bps)


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
    return seconds_of(
        [one.collective for one in collectives],
        [one.system for one in collectives],
        np.array([one.ranks for one in collectives], np.float64),
        np.array([one.size_bytes for one in collectives]),
        calibration,
    )


def seconds_of(
    names: Sequence[str], systems: Sequence[System], ranks: Floats, size: Floats, calibration: Calibration
) -> Floats:
    """Return the predicted times of collectives; ranks fill servers in order."""
    links, stride = Links(stacked_machines(systems), calibration, ranks), np.ones_like(ranks)
    passes = np.array([RING_PASSES.get(name, 0) for name in names], np.float64)
    gathers = links.gather_s(ranks, stride, size, passes)
    ours = np.where(passes > 0, gathers, links.exchange_s(ranks, stride, size))
    one_shot = np.array([name == ONE_SHOT for name in names])
    return np.where(one_shot, allreduce_s(size, ranks, links.allreduce_terms(ranks, stride)), ours)


def accelerator_collectives(path: str, accelerators: Collection[str]) -> MeasuredCollectives:
    """Return the collectives of some accelerators in a table.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has no collective of the accelerators.
    """
    runs = read_collectives(path).runs
    if own := [one for one in runs if one.system.accelerator in accelerators]:
        return MeasuredCollectives(own)
    others = ", ".join(sorted({one.system.accelerator for one in runs}))
    raise InvalidInput(f"{path}: no collective of {', '.join(sorted(accelerators))}; it has {others}")


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """A collective among accelerators, predicted.

    Attributes
    ----------
    servers : int
        Servers that the ranks fill, the last one perhaps partly.
    measured_s : float or None
        Measured time, if any.
    """

    name: str
    collective: str
    accelerator: str
    ranks: int
    servers: int
    size_bytes: float
    time_s: float
    measured_s: float | None = None

    @property
    def error_percent(self) -> float | None:
        """Relative error of the prediction, percent."""
        return None if self.measured_s is None else percent_off(self.time_s, self.measured_s)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping, with the bandwidths of nccl-tests."""
        rate = self.size_bytes / self.time_s
        passes = RING_PASSES.get(self.collective, 1)
        bus = {"bus_bytes_per_s": rate * passes * (self.ranks - 1) / self.ranks}
        return {**asdict(self), "algorithm_bytes_per_s": rate, **bus, "error_percent": self.error_percent}


@shows_itself
@dataclass(frozen=True, repr=False)
class CollectiveTimes:
    """Collectives among accelerators, predicted by the law of step times.

    Attributes
    ----------
    what : str
        Question or table that is answered.
    assumed : str
        Assumed hardware, where none is measured.
    asked_bytes : float or None
        Requested size; the others are given in addition.
    """

    what: str
    rows: tuple[CollectiveTime, ...]
    assumed: str = ""
    asked_bytes: float | None = None
    not_scored: tuple[NotScored, ...] = ()

    @property
    def errors(self) -> Errors:
        """Errors by data set, accelerator and collective of the rows that were measured."""
        off = [
            (f"{one.name} {one.accelerator} {one.collective}", one.error_percent)
            for one in self.rows
            if one.error_percent is not None
        ]
        return errors_by(off, total=True)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {
            "collectives": self.what,
            **fields_of(self, "assumed", "asked_bytes"),
            "rows": [one.to_json() for one in self.rows],
            "errors": {name: asdict(error) for name, error in self.errors.items()},
            "not_scored": [one.to_json() for one in self.not_scored],
        }

    def to_frame(self) -> Frame:
        """Return a row for each collective; needs pandas."""
        return frame(one.to_json() for one in self.rows)


ACCURACY = (
    "predictions of 140 published rows of nccl-tests from 64 MiB are 7.1% off on average, 20 of them by more than 15%; "
    "smaller messages and networks with SHARP are further off"
)
"""Measured on ``benchmarks/data/collectives.csv``."""
SIZES = tuple(2**20 * 4**step for step in range(7))
"""Additional sizes: 1 MiB to 4 GiB."""


def collective_sizes(
    collective: str,
    size_bytes: float,
    system: System,
    ranks: int,
    calibration: Calibration,
    one_shot: bool = False,
) -> CollectiveTimes:
    """Return the time of a collective among accelerators, also for other sizes.

    Raises
    ------
    InvalidInput
        If there are fewer than two ranks.
    """
    if ranks < 2:
        raise InvalidInput(f"accelerators: expected 2 or more, got {ranks}")
    sizes = sorted({float(size_bytes), *map(float, SIZES)})
    count, name = len(sizes), ONE_SHOT if one_shot else collective
    members = np.full(count, float(ranks))
    seconds = seconds_of([name] * count, [system] * count, members, np.array(sizes), calibration)
    servers = -(-ranks // system.accelerators_per_server)
    rows = (
        CollectiveTime("", collective, system.accelerator, ranks, servers, size, time_s)
        for size, time_s in zip(sizes, seconds.tolist(), strict=True)
    )
    each = f"{min(ranks, system.accelerators_per_server)} x {system.accelerator} a server"
    network = (
        f", {format_bandwidth(system.network_bandwidth_bps)} each to the network"
        if servers > 1
        else ", one server"
    )
    inside = f", {format_bandwidth(system.scale_up_bandwidth_bps)} each inside"
    what = f"{collective} among {ranks} accelerators"
    return CollectiveTimes(what, tuple(rows), each + inside + network, size_bytes)


def collectives_of_table(path: str | Path) -> CollectiveTimes:
    """Return predictions beside the measured rows of a table, each by the calibration of its accelerator.

    Raises
    ------
    InvalidInput
        If the file is no such table, or has no row that can be predicted.
    """
    runs = read_collectives(path).runs
    rows, left = list[CollectiveTime](), list[NotScored]()
    for accelerator in dict.fromkeys(one.system.accelerator for one in runs):
        own = [one for one in runs if one.system.accelerator == accelerator]
        try:
            calibration = find_calibration(accelerator)
        except InvalidInput as error:
            left += [NotScored(one.row, str(error)) for one in own]
            continue
        for one, time_s in zip(own, collective_times(own, calibration).tolist(), strict=True):
            servers = -(-one.ranks // one.system.accelerators_per_server)
            about = one.collective, accelerator, one.ranks, servers, one.size_bytes
            rows.append(CollectiveTime(one.row.dataset, *about, time_s, one.measured_s))
    if not rows:
        raise InvalidInput(f"{path}: no row can be predicted: {left[0].reason} ({left[0].row.name})")
    return CollectiveTimes(str(path), tuple(rows), not_scored=tuple(left))
