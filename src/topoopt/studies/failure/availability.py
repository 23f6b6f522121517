"""A job over a month of failures and repairs, by Monte Carlo: uptime, speed, and goodput."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.plans import Plan
from topoopt.studies.failure.effects import Effect
from topoopt.studies.failure.failure_rates import FailureRates, Rate
from topoopt.studies.failure.fault import plan_wiring

ESTIMATES = ("full_speed", "degraded", "down", "goodput", "slowdown")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over the runs, and its standard error."""

    mean: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class Availability:
    """A job under failures.

    Attributes
    ----------
    full_speed, degraded, down : Estimate
        Shares of the time. They sum to 1.
    goodput : Estimate
        Samples that count, over those without any failure: those lost since a checkpoint do not count.
    slowdown : Estimate
        Mean iteration time while the job runs, over that without failures.
    failures : mapping from a kind of part to how many fail in a run
    goodput_first_order : float
        Goodput in closed form, as if no two failures met: 1 less the loss of each kind alone.
    """

    days: float
    runs: int
    seed: int
    full_speed: Estimate
    degraded: Estimate
    down: Estimate
    goodput: Estimate
    slowdown: Estimate
    failures: Mapping[str, Estimate]
    goodput_first_order: float


@dataclass(frozen=True, eq=False)
class Outages:
    """Failures of parts of one kind, in all runs; arrays of shape (failures,).

    Attributes
    ----------
    run, part : int64 arrays
    start_s, end_s : float64 arrays
        Start of each failure and end of its repair, which may be after the horizon.
    """

    run: Ints
    part: Ints
    start_s: Floats
    end_s: Floats


def parts_of(plan: Plan) -> dict[str, int]:
    """Return the number of parts of each kind that can fail in a plan."""
    wiring = plan_wiring(plan)
    return {
        "nic": int(plan.fabric.topology.ports.sum()),
        "fiber": len(wiring.patches),
        "server": plan.job.cluster.servers,
        "panel": wiring.panels,
    }


def availability(
    counts: Mapping[str, int],
    kinds: Mapping[str, tuple[Effect, ...]],
    rates: FailureRates,
    *,
    days: float = 30.0,
    runs: int = 1000,
    seed: int = 0,
) -> Availability:
    """Simulate failures and repairs of parts, and sum the work of the job.

    Parts fail independently, starting with all of them working. For simultaneous failures, the slowdowns of links
    and panels are added and those of missing servers multiplied. A failed server stops the job: work since the
    last checkpoint is lost, and the job restarts on a spare server or on the remaining ones; when a missing server
    is back, the job takes a checkpoint and restarts with it.

    Parameters
    ----------
    counts : mapping from a kind of part to how many there are

    Raises
    ------
    InvalidInput
        If days or runs are not positive.
    """
    if not 0 < days < math.inf or runs < 2:
        raise InvalidInput(f"availability: days must be positive and runs at least 2, got {days} and {runs}")
    rng = np.random.default_rng(seed)
    horizon_s = days * 86400.0
    course = _Course(runs, horizon_s)
    failures = {}
    for kind, rate in rates.parts.items():
        times = outages(rate, counts[kind], runs, horizon_s, rng)
        failures[kind] = _estimate(np.bincount(times.run, minlength=runs).astype(float))
        if kind == "server":
            _servers(course, times, kinds[kind][0], rates, rng)
        else:
            _links(course, times, kinds[kind], rng)
    return Availability(
        days,
        runs,
        seed,
        failures=failures,
        goodput_first_order=first_order(counts, kinds, rates),
        **course.estimates(kinds["server"][0].speed if "server" in kinds else 1.0),
    )


def outages(rate: Rate, parts: int, runs: int, horizon_s: float, rng: np.random.Generator) -> Outages:
    """Return the failures of independent parts, each up and down in turn for exponential times."""
    rounds = [np.zeros((0, 4))]
    start = rng.exponential(rate.mtbf_s, (runs, parts)).ravel()
    index = np.arange(runs * parts)
    while True:
        inside = start < horizon_s
        index, start = index[inside], start[inside]
        if not len(index):
            break
        end = start + rng.exponential(rate.repair_s, len(index)) if rate.repair_s else start.copy()
        rounds.append(np.column_stack((index // parts, index % parts, start, end)))
        start = end + rng.exponential(rate.mtbf_s, len(index))
    rows = np.concatenate(rounds)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
    return Outages(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], rows[:, 3])


def first_order(
    counts: Mapping[str, int], kinds: Mapping[str, tuple[Effect, ...]], rates: FailureRates
) -> float:
    """Return the goodput in the long run as if no two failures met."""
    lost = 0.0
    for kind, rate in rates.parts.items():
        a_second = counts[kind] / (rate.mtbf_s + rate.repair_s)  # failures of all parts of this kind
        for effect in kinds[kind]:
            if kind == "server":
                spare = rates.spare_servers > 0 and rates.move_fibers
                stop_s = rates.restart_s + rates.checkpoint_s / 2
                stop_s += effect.spare_time_s if spare else effect.move_time_s
                if not spare:
                    stop_s += rate.repair_s * (1 - effect.speed) + (rates.restart_s if effect.speed else 0.0)
            else:
                share = 1 - math.exp(-effect.move_time_s / rate.repair_s) if rate.repair_s else 1.0
                slow = share * (1 - effect.speed_meanwhile) + (1 - share) * (1 - effect.speed)
                stop_s = rate.repair_s * slow
            lost += a_second * effect.weight * stop_s
    return 1 - lost


class _Course:
    """Changes over time of all runs: how many reasons to stand, how slow, how many servers missing."""

    def __init__(self, runs: int, horizon_s: float) -> None:
        self.runs, self.horizon_s = runs, horizon_s
        self._rows: list[Floats] = []  # run, second, and the change of each of the three
        self.lost_s = np.zeros(runs)  # at full speed

    def add(self, run: Ints, start_s: Floats, end_s: Floats, column: int, amount: Floats | float) -> None:
        """Count ``amount`` more of a column from start to end."""
        for moment, sign in ((start_s, 1.0), (end_s, -1.0)):
            rows = np.zeros((len(run), 5))
            rows[:, 0] = run
            rows[:, 1] = np.clip(moment, 0.0, self.horizon_s)
            rows[:, 2 + column] = sign * np.asarray(amount)
            self._rows.append(rows)

    def estimates(self, server_speed: float) -> dict[str, Estimate]:
        """Return the shares of the time and of the work, by the names of :data:`ESTIMATES`."""
        ends = np.zeros((2 * self.runs, 5))
        ends[:, 0] = np.repeat(np.arange(self.runs), 2)
        ends[1::2, 1] = self.horizon_s
        rows = np.concatenate([*self._rows, ends])
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        # Every change is taken back by the end of its run, so one running sum serves all runs.
        down, slow, missing = np.cumsum(rows[:-1, 2:], axis=0).T
        span_s = np.where(rows[1:, 0] == rows[:-1, 0], np.diff(rows[:, 1]), 0.0)
        run = rows[:-1, 0].astype(np.int64)
        up = np.abs(down) < 0.5
        speed = np.where(up, server_speed ** np.rint(missing) / (1 + np.maximum(slow, 0.0)), 0.0)
        up &= speed > 0
        whole = up & (speed > 1 - 1e-9)

        def each(seconds: Floats) -> Floats:
            return np.bincount(run, seconds, self.runs).astype(np.float64)

        up_s, done_s = each(span_s * up), each(span_s * speed)
        with np.errstate(divide="ignore", invalid="ignore"):
            slowdown = np.where(done_s > 0, up_s / done_s, 1.0)
        seconds = [each(span_s * state) for state in (whole, up & ~whole, ~up)]
        shares = [each_s / self.horizon_s for each_s in (*seconds, np.maximum(done_s - self.lost_s, 0.0))]
        return dict(zip(ESTIMATES, map(_estimate, (*shares, slowdown)), strict=True))


def _links(course: _Course, times: Outages, alike: tuple[Effect, ...], rng: np.random.Generator) -> None:
    """Slow the job down while a link or panel is dead: first without moves, then with them."""
    which = rng.choice(len(alike), len(times.run), p=[effect.weight for effect in alike])
    for number, effect in enumerate(alike):
        some = which == number
        run, start, end = times.run[some], times.start_s[some], times.end_s[some]
        moved = np.minimum(start + effect.move_time_s, end)
        for begins, ends, speed in ((start, moved, effect.speed_meanwhile), (moved, end, effect.speed)):
            if speed > 0:
                course.add(run, begins, ends, 1, 1 / speed - 1)
            else:
                course.add(run, begins, ends, 0, 1.0)


def _servers(
    course: _Course, times: Outages, effect: Effect, rates: FailureRates, rng: np.random.Generator
) -> None:
    """Stop the job at every failure of a server; continue with a spare, with fewer, or after its repair."""
    since_checkpoint = rng.random(len(times.run)) * rates.checkpoint_s
    np.add.at(course.lost_s, times.run, np.minimum(since_checkpoint, times.start_s))
    missed = ~_has_spare(times, rates.spare_servers if rates.move_fibers else 0)
    patched_s = np.where(missed, effect.move_time_s, effect.spare_time_s)
    begun = times.start_s + patched_s + rates.restart_s
    if effect.speed > 0:
        course.add(times.run, times.start_s, begun, 0, 1.0)
        run, end = times.run[missed], times.end_s[missed]
        course.add(run, times.start_s[missed], end, 2, 1.0)
        course.add(run, end, end + rates.restart_s, 0, 1.0)
    else:
        begun = np.where(missed, times.end_s + rates.restart_s, begun)
        course.add(times.run, times.start_s, begun, 0, 1.0)


def _has_spare(times: Outages, spares: int) -> Flags:
    """Return which failures find a spare server; it is in use until the failed one is repaired."""
    taken = np.zeros(len(times.run), bool)
    busy: list[float] = []
    for index, (run, start) in enumerate(zip(times.run.tolist(), times.start_s.tolist(), strict=True)):
        if index and run != times.run[index - 1]:
            busy = []
        busy = [end for end in busy if end > start]
        if len(busy) < spares:
            busy.append(float(times.end_s[index]))
            taken[index] = True
    return taken


def _estimate(values: Floats) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))
