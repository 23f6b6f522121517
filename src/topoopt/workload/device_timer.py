"""Operator times from a profile of the user's own device."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.workload.curve import time_at
from topoopt.workload.device_profile import DeviceProfile, MeasuredOperator, OperatorSignature, signature_of
from topoopt.workload.graph import Operator
from topoopt.workload.timer import OperatorTime, OperatorTimer


@dataclass(frozen=True, slots=True)
class _Curve:
    """Times of one operator shape at one channel degree over the samples of an accelerator, ascending."""

    samples: tuple[float, ...]
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]


class DeviceTimer:
    """Times of operators from a :class:`DeviceProfile`, whatever model they are of.

    A time is taken for an operator of exactly a measured shape; any other goes to ``fallback``. Where a channel
    split was measured along two dimensions, the longer time counts: a search's table has one for both. Between
    and beyond the measured numbers of samples, see ``workload/curve.py``; the floor is the
    shortest time in the profile. Where a channel degree was not measured, the whole operator's time is divided:
    ``floor + (t - floor) / k``.

    Parameters
    ----------
    accelerators_per_server : int
        Accelerators that share the samples of a part; an embedding table's part runs on one.
    """

    def __init__(
        self, profile: DeviceProfile, fallback: OperatorTimer, *, accelerators_per_server: int
    ) -> None:
        self._fallback = fallback
        self._accelerators = accelerators_per_server
        self._curves = {op.signature: _curves(op) for op in profile.operators if op.times}
        self._floor_s = _floors(profile)

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        curves = self._of(op)
        if not curves or not {1, channel_degree} & set(curves):
            return self._fallback.time(op, samples, channel_degree)
        at = samples if op.is_embedding else samples / self._accelerators
        curve = curves.get(channel_degree) or curves[1]
        forward_floor_s, backward_floor_s = self._floor_s
        forward_s, source = time_at(curve.samples, curve.forward_s, at, forward_floor_s)
        backward_s, _ = time_at(curve.samples, curve.backward_s, at, backward_floor_s)
        if channel_degree not in curves:
            forward_s = forward_floor_s + (forward_s - forward_floor_s) / channel_degree
            backward_s = backward_floor_s + (backward_s - backward_floor_s) / channel_degree
            source += ", channels scaled"
        return OperatorTime(forward_s, backward_s, source)

    def _of(self, op: Operator) -> Mapping[int, _Curve]:
        key: OperatorSignature = signature_of(op)
        return self._curves.get(key, {})


def _curves(op: MeasuredOperator) -> dict[int, _Curve]:
    longest: dict[int, dict[int, tuple[float, float]]] = {}
    for size, time in op.times.items():
        at_degree = longest.setdefault(size.channel_degree, {})
        forward_s, backward_s = at_degree.get(size.samples, (0.0, 0.0))
        at_degree[size.samples] = max(forward_s, time.forward_s), max(backward_s, time.backward_s)
    return {
        degree: _Curve(
            tuple(float(samples) for samples in sorted(rows)),
            tuple(rows[samples][0] for samples in sorted(rows)),
            tuple(rows[samples][1] for samples in sorted(rows)),
        )
        for degree, rows in longest.items()
    }


def _floors(profile: DeviceProfile) -> tuple[float, float]:
    times = [time for op in profile.operators for time in op.times.values()]
    return min((t.forward_s for t in times), default=0.0), min((t.backward_s for t in times), default=0.0)
