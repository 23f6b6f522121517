"""Operator times from a profile of the user's own device."""

from topoopt.workloads.curve import Curve, curve_of, launch_floor_s
from topoopt.workloads.device_profile import DeviceProfile, MeasuredOperator, signature_of
from topoopt.workloads.graph import Operator
from topoopt.workloads.timer import OperatorTime, OperatorTimer


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
        self._floor_s = launch_floor_s(time for op in profile.operators for time in op.times.values())

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        curves = self._curves.get(signature_of(op), {})
        if not {1, channel_degree} & set(curves):
            return self._fallback.time(op, samples, channel_degree)
        at = samples if op.is_embedding else samples / self._accelerators
        if channel_degree in curves:
            return curves[channel_degree].time(at, self._floor_s, 1)
        return curves[1].time(at, self._floor_s, channel_degree)


def _curves(op: MeasuredOperator) -> dict[int, Curve]:
    longest: dict[int, dict[int, tuple[float, float]]] = {}
    for size, time in op.times.items():
        at_degree = longest.setdefault(size.channel_degree, {})
        forward_s, backward_s = at_degree.get(size.samples, (0.0, 0.0))
        at_degree[size.samples] = max(forward_s, time.forward_s), max(backward_s, time.backward_s)
    return {
        degree: curve_of((float(samples), *times_s) for samples, times_s in rows.items())
        for degree, rows in longest.items()
    }
