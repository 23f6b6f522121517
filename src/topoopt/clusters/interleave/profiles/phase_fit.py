"""Phases from measured bytes: where iterations begin, their mean, and a few phases of one rate each.

Neighboring stretches of nearly one rate are joined, those first that change the rates least (Ward's rule: least sum of
squares), for as long as no more than a tolerated share of the bytes is sent at another moment than it was.

Iterations of a measured series are not all of one length. Their mean iteration is laid over the series where the next
one should begin, and moved to where it fits best.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.profiles.byte_curve import ByteCurve
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile, Phase
from topoopt.routing import Fabric
from topoopt.simulation import SimResult, link_counters

LEAST_LEFT = 0.02
"""Fraction of the variance: means that leave less fit equally well, and the shortest of them is the period."""
DEVIATIONS = 15.0
"""Significance limit in standard deviations: neighbors in bursts are alike, and count as fewer samples."""


@dataclass(frozen=True, slots=True)
class ToldShare:
    """Variance of a series that a mean iteration leaves unexplained.

    Attributes
    ----------
    left : float
        Unexplained share of the variance.
    numbers : int
        Number of values in the mean.
    """

    left: float
    numbers: int
    samples: int

    @property
    def bayesian(self) -> float:
        """Bayesian information criterion, per sample: the less, the more likely is this period and not another."""
        return log(max(self.left, LEAST_LEFT)) + self.numbers * log(self.samples) / self.samples

    @property
    def is_more_than_chance(self) -> bool:
        """Whether the fit is better than on noise.

        So many numbers tell as many samples of noise, with a standard deviation of the square root of twice as many.
        """
        by_chance = self.numbers + DEVIATIONS * sqrt(2 * self.numbers)
        return log(max(self.left, LEAST_LEFT)) < -by_chance / self.samples


STRETCHES = 512
"""Most stretches of an iteration."""
MOST_SHIFT = 0.1
"""Fraction of an iteration by which one may be longer or shorter than the mean."""
ROUNDS = 2
FIRST = 3
"""Iterations that determine the start of the series in the first one; later ones have drifted."""


@dataclass(frozen=True, eq=False)
class MeanIteration:
    """Mean of several iterations.

    Attributes
    ----------
    period_s : float
        Mean time from the begin of one to that of the next.
    starts_s : float64 array, shape (iterations,)
        Start of each iteration, by the clock of the series.
    rates_bps : float64 array, shape (iterations, stretches)
        Rates in equal stretches of each iteration.
    """

    period_s: float
    starts_s: Floats
    rates_bps: Floats

    @property
    def curve(self) -> ByteCurve:
        """Bytes sent within an iteration, the mean of all."""
        stretches = self.rates_bps.shape[1]
        sent = np.cumsum(self.rates_bps.mean(axis=0)) * (self.period_s / stretches / 8)
        return ByteCurve(np.linspace(0.0, self.period_s, stretches + 1), np.concatenate(([0.0], sent)))

    @property
    def deviation_bps(self) -> Floats:
        """Standard deviation of each stretch's rate from iteration to iteration, shape (stretches,)."""
        if len(self.rates_bps) < 2:
            return np.zeros(self.rates_bps.shape[1])
        deviation: Floats = self.rates_bps.std(axis=0, ddof=1)
        return deviation

    @property
    def told(self) -> ToldShare:
        """Fit of the mean to the iterations; a single one leaves all variance unexplained."""
        count, stretches = self.rates_bps.shape
        all_of_it = float(self.rates_bps.var())
        if count < 2 or not all_of_it > 0:
            return ToldShare(1.0, stretches, stretches)
        left = float(((self.rates_bps - self.rates_bps.mean(axis=0)) ** 2).mean())
        return ToldShare(left / all_of_it, stretches + count, count * stretches)


TOLERANCE = 0.02
"""Fraction of the bytes of an iteration that may be sent at another moment."""
QUIET = 0.01
"""Fraction of the highest rate that counts as silence."""


def few_phases(curve: ByteCurve, tolerance: float = TOLERANCE, quiet: float = QUIET) -> tuple[Phase, ...]:
    """Return the phases of one iteration.

    Bytes sent in a stretch that counts as silent are added to the phase before it, at its rate.

    Parameters
    ----------
    curve : ByteCurve
        Byte curve of one iteration, which repeats: a phase may wrap.
    tolerance : float
        Share of the bytes that may be sent at another moment.
    quiet : float
        Share of the highest rate below which a stretch is silent, if its bytes are within the tolerance.
    """
    seconds, sent = np.diff(curve.times_s), np.diff(curve.sent_bytes)
    if not sent.sum() > 0:
        return ()
    if _silent_bytes(seconds, sent, quiet) > tolerance * sent.sum():
        quiet = 0.0
    # the stretch that follows the longest silence around the iteration; where none is silent, 0
    rate = sent / seconds
    loud = rate > quiet * rate.max()
    if loud.all():
        first = 0
    else:
        starts, lasts = np.flatnonzero(loud & ~np.roll(loud, 1)), np.flatnonzero(loud & ~np.roll(loud, -1))
        clock_s = np.concatenate(([0.0], np.cumsum(seconds)))
        last_before = lasts[np.searchsorted(lasts, starts) - 1]
        silent_s = (clock_s[starts] - clock_s[last_before + 1]) % clock_s[-1]
        first = int(starts[np.argmax(silent_s)])
    seconds, sent = np.roll(seconds, -first), np.roll(sent, -first)
    removed = _order_of_joining(seconds, sent)
    low, high = 0, len(removed)
    while low < high:  # the most joints that may go
        middle = (low + high + 1) // 2
        moved = _moved_share(seconds, sent, _kept(len(sent), removed[:middle]), quiet)
        low, high = (middle, high) if moved <= tolerance else (low, middle - 1)
    begins = _kept(len(sent), removed[:low])
    start_s = float(curve.times_s[first] - curve.times_s[0])
    return _as_phases(np.add.reduceat(seconds, begins), np.add.reduceat(sent, begins), start_s, quiet)


def _order_of_joining(seconds: Floats, sent: Floats) -> list[int]:
    """Return the joints, each by the stretch behind it, in the order in which they go."""
    count = len(sent)
    before, after = list(range(-1, count - 1)), list(range(1, count + 1))
    lasts, amount, version = seconds.tolist(), sent.tolist(), [0] * count
    removed: list[int] = []

    def cost(left: int, right: int) -> float:
        a, b = lasts[left], lasts[right]
        return float(a * b / (a + b) * (amount[left] / a - amount[right] / b) ** 2)

    heap = [(cost(place - 1, place), place, 0, 0) for place in range(1, count)]
    heapq.heapify(heap)
    while heap:
        _, right, stamp, left_stamp = heapq.heappop(heap)
        left = before[right]
        if left < 0 or stamp != version[right] or left_stamp != version[left]:
            continue
        removed.append(right)
        lasts[left] += lasts[right]
        amount[left] += amount[right]
        version[left] += 1
        version[right] = -1
        following, before[right] = after[right], -1
        after[left] = following
        if following < count:
            before[following] = left
            heapq.heappush(heap, (cost(left, following), following, version[following], version[left]))
        if before[left] >= 0:
            heapq.heappush(heap, (cost(before[left], left), left, version[left], version[before[left]]))
    return removed


def _kept(count: int, removed: list[int]) -> Ints:
    kept = np.ones(count, np.bool_)
    kept[removed] = False
    return np.flatnonzero(kept)


def _moved_share(seconds: Floats, sent: Floats, begins: Ints, quiet: float) -> float:
    """Return at most how much of the bytes is sent at another moment if stretches begin there."""
    joined_s, joined = np.add.reduceat(seconds, begins), np.add.reduceat(sent, begins)
    row = np.cumsum(np.isin(np.arange(len(sent)), begins)) - 1
    moved = np.abs(sent - (joined / joined_s)[row] * seconds).sum() / 2
    return float((moved + _silent_bytes(joined_s, joined, quiet)) / sent.sum())


def _silent_bytes(seconds: Floats, sent: Floats, quiet: float) -> float:
    """Return the bytes sent in stretches that count as silent."""
    rate = sent / seconds
    return float(sent[rate <= quiet * rate.max()].sum())


def _as_phases(seconds: Floats, sent: Floats, start_s: float, quiet: float) -> tuple[Phase, ...]:
    """Return the phases of stretches; the bytes of a silent one are sent behind the phase before it."""
    rate = sent / seconds
    period_s = float(seconds.sum())
    begin_s = start_s + np.concatenate(([0.0], np.cumsum(seconds)[:-1]))
    loud = np.flatnonzero(rate > quiet * rate.max())
    phases = []
    for place, row in enumerate(loud):
        following = np.arange(row + 1, loud[place + 1] if place + 1 < len(loud) else len(sent) + loud[0])
        more_s = sent[following % len(sent)].sum() / rate[row]
        lasts_s = min(float(seconds[row] + more_s), period_s)
        phases.append(Phase(within_period(float(begin_s[row]), period_s), lasts_s, float(rate[row] * 8)))
    return tuple(sorted(phases, key=lambda phase: phase.start_s))


def within_period(time_s: float, period_s: float) -> float:
    """Return a moment within the iteration; one that rounding puts at its end is at its begin."""
    into_s = time_s % period_s
    return into_s if into_s < period_s * (1 - 1e-9) else 0.0


Ends = tuple[int, int]
"""Source and destination node of a link."""


def profiles_of_links(
    job: str, result: SimResult, fabric: Fabric, links: list[Ends], tolerance: float = TOLERANCE
) -> Mapping[Ends, CommunicationProfile]:
    """Return the profiles of a job on links in one iteration, from a simulation.

    Bytes are those that the simulator counts: payload, of packets with their headers. Of several simulated iterations
    it is the mean of those in the middle, that follow one another in the steady state.

    Parameters
    ----------
    result : SimResult
        Result of any simulator on this fabric.
    tolerance : float
        Share of a link's bytes that may be sent at another moment, for fewer phases.

    Raises
    ------
    InvalidInput
        If there is no such link, or circuits change over time.
    """
    numbers = np.array([_number(fabric, ends) for ends in links], np.int64)
    counters = link_counters(result, fabric, numbers)
    starts_s, period_s = _iterations(result)
    profiles = {}
    for column, ends in enumerate(links):
        curve = ByteCurve(counters.times_s, counters.sent_bytes[:, column])
        phases = few_phases(curve.folded(starts_s, period_s), tolerance)
        profiles[ends] = CommunicationProfile(job, period_s, phases)
    return profiles


def busiest_uplink(result: SimResult, fabric: Fabric) -> Ends:
    """Return the link out of a server that is busy for longest; of several the first."""
    topology = fabric.topology
    busy_s = np.where(topology.src < topology.servers, result.link_bytes * 8 / topology.bandwidth_bps, -1.0)
    link = int(np.argmax(busy_s))
    return int(topology.src[link]), int(topology.dst[link])


def _number(fabric: Fabric, ends: Ends) -> int:
    topology = fabric.topology
    number = topology.link_id(*ends) if max(ends) < topology.nodes and min(ends) >= 0 else -1
    if number < 0:
        raise InvalidInput(
            f"link: fabric {fabric.name} has no link {ends[0]}-{ends[1]}; nodes are 0..{topology.nodes - 1}, servers "
            "first; name two that are joined"
        )
    return int(number)


def _iterations(result: SimResult) -> tuple[Floats, float]:
    """Return the start times of the averaged iterations, and their length."""
    graph, period_s = result.graph, result.iteration_time_s
    if graph.iterations == 1:
        return np.zeros(1), period_s
    first_end_s = float(result.finish_s[graph.iteration == 0].max())
    return first_end_s + period_s * np.arange(max(graph.iterations - 2, 1), dtype=np.float64), period_s


def mean_iteration(curve: ByteCurve, cell_s: float, period_s: float) -> MeanIteration:
    """Return the mean iteration of a series; the first iteration begins with the series.

    Parameters
    ----------
    cell_s : float
        Time between samples.
    period_s : float
        About how long iterations are; the series has at least one.
    """
    stretches = int(np.clip(period_s / cell_s, 2, STRETCHES))
    count = max(int(curve.duration_s / period_s + 1 / stretches), 1)
    begin_s = float(curve.times_s[0])
    starts_s: Floats = begin_s + period_s * np.arange(count, dtype=np.float64)
    for _ in range(ROUNDS if count > 2 else 0):
        edges_s = np.linspace(0.0, period_s, stretches + 1)
        model = _rates(curve, starts_s, edges_s).mean(axis=0)
        model = model - model.mean()
        reach = max(int(MOST_SHIFT * stretches), 1)
        places = sorted(range(-reach, reach + 1), key=abs)  # of what fits alike, the least shift
        shifts_s = np.array(places) * (period_s / stretches)
        moved, late_s = np.array(starts_s), 0.0
        for row, start_s in enumerate(starts_s):
            fits = _rates(curve, start_s + late_s + shifts_s, edges_s) @ model
            late_s += float(shifts_s[int(np.argmax(fits))])
            moved[row] = start_s + late_s
        starts_s = moved
        period_s = float(np.polyfit(np.arange(count), starts_s, 1)[0])
        first_s = float(np.mean(starts_s[:FIRST] - period_s * np.arange(count)[:FIRST]))
        starts_s = starts_s + (begin_s - first_s)
    over_s = starts_s + period_s - curve.times_s[-1]
    inside = (starts_s >= begin_s - period_s / stretches) & (over_s <= period_s / stretches)
    starts_s = starts_s[inside] if inside.any() else starts_s[:1]
    return MeanIteration(
        period_s, starts_s, _rates(curve, starts_s, np.linspace(0.0, period_s, stretches + 1))
    )


def _rates(curve: ByteCurve, starts_s: Floats, edges_s: Floats) -> Floats:
    """Return the mean rates between edges of each iteration, shape (iterations, stretches)."""
    sent = curve.at(starts_s[:, None] + edges_s[None, :])
    return np.diff(sent, axis=1) * 8 / np.diff(edges_s)
