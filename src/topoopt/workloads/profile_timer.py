"""Operator times from measured tables: exact where measured, straight lines between and beyond."""

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from topoopt.base.arrays import grouped
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import Amount, Count, Name, Number, Positive, Strict, read_json, validated
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.operator_timer import Curve, OperatorTime, OperatorTimer, curve_of, launch_floor_s
from topoopt.workloads.zoo.models import MODELS, load_model, profiles_of, published_graph
from topoopt.workloads.zoo.recommenders import DlrmParameters


@dataclass(frozen=True, slots=True)
class Measurement:
    """One operator measured on one server.

    Attributes
    ----------
    samples : float
        Samples that the server's part holds: the global batch divided by the parts.
    memory_bytes : int
        Memory of one accelerator.
    """

    samples: Positive
    forward_s: Amount
    backward_s: Amount
    memory_bytes: Count


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """Measurements by the operator's profile key, each in ascending order of samples.

    ``model`` is the variant of the zoo whose operators have the measured shapes, which the keys alone do not determine.
    """

    model: str
    servers: Number
    global_batch: Number
    measurements: Mapping[str, tuple[Measurement, ...]]


PROFILED_ACCELERATORS_PER_SERVER = 4
"""The published tables were measured on servers of four accelerators."""
_Shape = tuple[str, int, float, float, int]


class ProfileTimer:
    """Times of a model's operators from tables of measurements.

    Measured keys are lossy (a convolution's input size is not in them), so a time is taken only for an
    operator of exactly the shape of one in the table's model; any other goes to ``fallback``. Within the
    model the keys stay lossy: the authors measured one operator for each key, the first (the memory they
    note for VGG's ``Conv2D_3_3_64`` is that of the three-channel input), and so does this timer read it.

    Between two measured points the time is on a straight line in samples. Beyond them it goes on along the
    line through the last two points, never below the tables' launch floor (the shortest time in them). A
    later table only extends the range of an earlier one.

    Each of ``k`` channel parts takes ``floor + (t - floor) / k``: the work is divided, the launch is not.

    Parameters
    ----------
    tables : sequence of (ProfileTable, OperatorGraph)
        Measurements and the model they were measured on, the most fitting first.
    fallback : OperatorTimer
        Asked for every operator without a measurement.
    accelerators_per_server : int
        Accelerators of the job's servers. A part's samples are shared by them, so times for another
        number than ``table_accelerators`` are looked up at the same samples per accelerator.
    """

    def __init__(
        self,
        tables: Sequence[tuple[ProfileTable, OperatorGraph]],
        fallback: OperatorTimer,
        *,
        accelerators_per_server: int = PROFILED_ACCELERATORS_PER_SERVER,
    ) -> None:
        self._fallback = fallback
        self._scale = PROFILED_ACCELERATORS_PER_SERVER / accelerators_per_server
        self._curves, self._own_samples = _curves(tables)
        self._floor_s = launch_floor_s(
            row for table, _ in tables for rows in table.measurements.values() for row in rows
        )

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        curve = self._curves.get(_shape(op))
        if curve is None:
            return self._fallback.time(op, samples, channel_degree)
        return curve.time(
            samples if op.is_embedding else samples * self._scale, self._floor_s, channel_degree
        )

    def measured_parts(self, op: Operator, global_batch: float) -> tuple[int, ...]:
        """Return, ascending, the numbers of parts whose time was measured; none for an unmeasured operator.

        It is the operator's search space in the authors' released search.
        """
        batch = global_batch if op.is_embedding else global_batch * self._scale
        counts = {batch / samples for samples in self._own_samples.get(_shape(op), ())}
        return tuple(sorted(round(parts) for parts in counts if parts >= 1 and parts.is_integer()))


def published_profile_timer(
    graph: OperatorGraph,
    *,
    global_batch: float,
    fallback: OperatorTimer,
    accelerators_per_server: int = PROFILED_ACCELERATORS_PER_SERVER,
) -> ProfileTimer:
    """Return the timer of a zoo model from the authors' A100 tables.

    The variant's own tables come first, the one measured at the nearest global batch first of all. A graph
    that is not of the zoo has no tables: all its times come from ``fallback``.
    """
    chosen: list[tuple[ProfileTable, OperatorGraph]] = []
    batch = global_batch * PROFILED_ACCELERATORS_PER_SERVER / accelerators_per_server
    for variant in profiles_of(graph.name):
        own = [table for table in published_tables() if table.model == variant]
        own.sort(key=lambda table: abs(math.log(table.global_batch / batch)))
        chosen += [(table, published_graph(variant)) for table in own]
    return ProfileTimer(chosen, fallback, accelerators_per_server=accelerators_per_server)


def _shape(op: Operator) -> _Shape:
    return (
        op.profile_key,
        op.output_bytes_per_sample,
        op.forward_flops_per_sample,
        op.memory_traffic_bytes_per_sample,
        op.parameter_bytes,
    )


def _curves(
    tables: Sequence[tuple[ProfileTable, OperatorGraph]],
) -> tuple[dict[_Shape, Curve], dict[_Shape, tuple[float, ...]]]:
    """Return the curve of each shape, and the samples that it has in the first table with that shape."""
    known: dict[_Shape, list[Measurement]] = {}
    own: dict[_Shape, tuple[float, ...]] = {}
    for table, graph in tables:
        measured = {_shape(op): table.measurements.get(op.profile_key, ()) for op in graph.operators}
        for shape, rows in measured.items():
            if rows:
                own.setdefault(shape, tuple(row.samples for row in rows))
                known[shape] = _extended(known.get(shape, []), rows)
    curves = {
        shape: curve_of((row.samples, row.forward_s, row.backward_s) for row in rows)
        for shape, rows in known.items()
    }
    return curves, own


def _extended(known: list[Measurement], rows: Sequence[Measurement]) -> list[Measurement]:
    if not known:
        return list(rows)
    below = [row for row in rows if row.samples < known[0].samples]
    above = [row for row in rows if row.samples > known[-1].samples]
    return below + known + above


def profile_table(
    model: str, servers: int, global_batch: int, rows: Iterable[tuple[str, int, float, float, int]]
) -> ProfileTable:
    """Return a table from rows of (name, parts, forward ms, backward ms, memory bytes)."""
    by_name = grouped(
        (name, Measurement(global_batch / parts, forward_ms * 1e-3, backward_ms * 1e-3, memory_bytes))
        for name, parts, forward_ms, backward_ms, memory_bytes in rows
    )
    ordered = {name: tuple(sorted(points, key=lambda m: m.samples)) for name, points in by_name.items()}
    return ProfileTable(model, servers, global_batch, ordered)


@cache
def published_tables() -> tuple[ProfileTable, ...]:
    """Return the authors' A100 measurements, which come with the package (see ``profiles/README.md``)."""
    text = files("topoopt.workloads").joinpath("profiles/a100.csv").read_text(encoding="utf-8")
    groups: dict[tuple[str, int, int], list[tuple[str, int, float, float, int]]] = {}
    reader = csv.reader(text.splitlines())
    next(reader)
    for model, servers, batch, name, parts, forward_ms, backward_ms, memory_bytes in reader:
        row = (name, int(parts), float(forward_ms), float(backward_ms), int(memory_bytes))
        groups.setdefault((model, int(servers), int(batch)), []).append(row)
    return tuple(profile_table(*key, rows) for key, rows in groups.items())


_COUNT = Annotated[int, Field(ge=1, le=10**12)]


class MeasurementModel(Strict):
    """One measurement; ``pc_str`` is the number of dimensions, then the parts in each, the batch's last."""

    name: Name
    pc_str: str
    fw_time: Amount
    bw_time: Amount
    mem_req: Annotated[int, Field(ge=0)] = 0


class FlexNetProfileModel(Strict):
    """The whole file; ``ngpus`` counts servers, ``batch_size`` is the global one."""

    batch_size: _COUNT
    ngpus: _COUNT
    measurements: Annotated[list[MeasurementModel], Field(min_length=1)]


def read_flexnet_profile(path: str | Path) -> tuple[ProfileTable, OperatorGraph | None]:
    """Return the measured times, and the zoo's graph of the model where the operators' names identify it.

    The graph is a variant all of whose operators were measured, its batch that of the profile on servers of
    four accelerators; DLRM also with another number of tables. Without one, the table's ``model`` is empty
    and the caller has to name the measured graph. Measurements of channel parts are left out: FlexNet
    measures none in the released search space.

    Raises
    ------
    InvalidInput
        If the file is cut short, or is not such a profile.
    """
    place = str(path)
    model = validated(FlexNetProfileModel, read_json(path), place)
    rows: list[tuple[str, int, float, float, int]] = []
    met: dict[tuple[str, int], int] = {}
    for number, m in enumerate(model.measurements):
        degrees = _degrees(m.pc_str, f"{place}: measurements[{number}].pc_str")
        if all(degree == 1 for degree in degrees[:-1]):
            first = met.setdefault((m.name, degrees[-1]), number)
            if first != number:
                raise InvalidInput(
                    f"{place}: measurements[{number}]: {m.name} in {degrees[-1]} parts is measurements[{first}], too"
                )
            rows.append((m.name, degrees[-1], m.fw_time, m.bw_time, m.mem_req))
    names = {row[0] for row in rows}
    batch = max(1, round(model.batch_size / (model.ngpus * PROFILED_ACCELERATORS_PER_SERVER)))
    variants = [v for entry in MODELS.values() for v in entry.variants]
    variants.sort(key=lambda v: v.servers != model.ngpus)
    candidates = [load_model(v.name, batch_per_accelerator=batch) for v in variants]
    for v in variants:
        if isinstance(v.parameters, DlrmParameters):
            # how many tables feed the widest dense layer; its input is all of them and the bottom's output
            widths = [
                int(name.split("_")[1]) for name in names if re.fullmatch(r"Dense_\d{1,12}_\d{1,12}", name)
            ]
            tables = max(
                1,
                (max(widths, default=0) - (v.parameters.bottom_output or v.parameters.bottom_width))
                // v.parameters.dim,
            )
            candidates.append(load_model(v.name, batch_per_accelerator=batch, tables=tables))
    graph = next((g for g in candidates if {op.profile_key for op in g.operators} == names), None)
    table = profile_table(graph.name if graph else "", model.ngpus, model.batch_size, rows)
    return table, graph


def _degrees(text: str, place: str) -> list[int]:
    numbers = [int(part) for part in text.split("-")] if re.fullmatch(r"\d{1,9}(-\d{1,9})+", text) else []
    if not numbers or numbers[0] != len(numbers) - 1 or 0 in numbers:
        raise InvalidInput(
            f'{place}: expected the number of dimensions and the parts of each, as 2-1-128, got "{text}"'
        )
    return numbers[1:]
