"""Operator times from measured tables: exact where measured, straight lines between and beyond."""

import math
from collections.abc import Sequence

from topoopt.workloads.curve import Curve, curve_of, launch_floor_s
from topoopt.workloads.graph import Operator, OperatorGraph
from topoopt.workloads.profile_table import Measurement, ProfileTable, published_tables
from topoopt.workloads.timer import OperatorTime, OperatorTimer
from topoopt.workloads.zoo.models import profiles_of, published_graph

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

    Of ``k`` channel parts each takes ``floor + (t - floor) / k``: the work is divided, the launch is not.

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
