"""A failure on the clock: until it happens, until it is repaired, and from then on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, InvalidInput, NoRoute
from topoopt.catalog import find_optical_switch
from topoopt.finder.rewiring import Step, step_time_s
from topoopt.jobs import job_traffic
from topoopt.plans import Plan
from topoopt.routing import Fabric
from topoopt.search import gap_parts, iteration_bounds, outcome, routing_gap, simulated
from topoopt.simulation import SimResult
from topoopt.studies.failure.fault import DetouredRoutes, Failure, Situation, situation
from topoopt.studies.failure.repair import AT_ONCE, WAYS, Repair, Way

AS_GOOD = 0.01
"""Repairs whose speeds differ by less than this fraction count as equal; among them, the fewest moves win."""


@dataclass(frozen=True, eq=False)
class RepairRow:
    """A repair and its evaluation.

    Attributes
    ----------
    repair, result
        None where it is not possible, with ``reason``.
    speed : float
        Samples per second, over those before the failure; 0 where it is not possible.
    meant : bool
        False of a repair that is for another kind of failure.
    """

    way: Way
    repair: Repair | None
    result: SimResult | None
    speed: float
    reason: str = ""
    meant: bool = True

    @property
    def iteration_time_s(self) -> float | None:
        """Seconds of an iteration; None where the repair is not possible."""
        return None if self.result is None else self.result.iteration_time_s

    @property
    def moved_fibers(self) -> int:
        """Fibers to touch; 0 where the repair is not possible."""
        return 0 if self.repair is None else self.repair.moved_fibers


@dataclass(frozen=True, eq=False)
class Prediction:
    """A failure of a plan: before, during, repaired.

    Attributes
    ----------
    before : SimResult
    during : RepairRow
        Immediate reaction, without any repair.
    rows : tuple of RepairRow
        All kinds of repair.
    chosen : RepairRow
        The fastest; of those about as fast the one that moves the fewest fibers.
    """

    situation: Situation
    before: SimResult
    during: RepairRow
    rows: tuple[RepairRow, ...]
    chosen: RepairRow

    @property
    def meanwhile(self) -> RepairRow:
        """The fastest interim repair until fibers have been moved: without moves, if the job has not stopped."""
        still = [row for row in self.rows if row.repair is not None and not row.moved_fibers]
        return max((row for row in still), key=lambda row: row.speed, default=self.during)

    @property
    def failure(self) -> Failure:
        """The failure."""
        return self.situation.failure


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which iterations take equally long.

    Attributes
    ----------
    end_s : float or None
        None of the last one.
    iteration_time_s : float or None
        None while the job is stopped.
    """

    name: str
    start_s: float
    end_s: float | None
    iteration_time_s: float | None


def move_time_s(repair: Repair | None, optics: str) -> float:
    """Return the time of a repair's moves on a technology of the catalogue, seconds; 0 without a repair.

    Raises
    ------
    InvalidInput
        If there is no such technology.
    """
    technology = find_optical_switch(optics)
    if repair is None or not repair.moved_fibers:
        return 0.0
    return step_time_s(Step(repair.removed, repair.made, 0.0), repair.wiring, technology)


def phases(
    prediction: Prediction, at_s: float, optics: str, restart_s: float, checkpoint_s: float
) -> tuple[tuple[Phase, ...], float]:
    """Return the phases around a failure at ``at_s``, and the seconds of work that it undoes.

    Where the repair moves fibers, the job continues meanwhile as fast as it can without; if it has to restart, it
    stops until the moves are made and it has restarted.

    Parameters
    ----------
    restart_s : float
        Time from the last checkpoint to the first iteration.
    checkpoint_s : float
        Time between two checkpoints; the first is the start.
    """
    if at_s < 0 or restart_s < 0 or checkpoint_s <= 0:
        raise InvalidInput(
            "fail: times must not be negative and that between checkpoints positive, got "
            f"{at_s}, {restart_s} and {checkpoint_s} s"
        )
    chosen = prediction.chosen
    assert chosen.repair is not None, "a chosen repair is possible"
    again = chosen.repair.restart
    repair_s = move_time_s(chosen.repair, optics) + (restart_s if again else 0.0)
    meanwhile = None if again else prediction.meanwhile.iteration_time_s
    course = [Phase("before", 0.0, at_s, prediction.before.iteration_time_s)]
    if repair_s:
        course.append(Phase("during", at_s, at_s + repair_s, meanwhile))
    course.append(Phase("repaired", at_s + repair_s, None, chosen.iteration_time_s))
    return tuple(course), at_s % checkpoint_s if again or (meanwhile is None and repair_s) else 0.0


def predict(
    plan: Plan,
    failure: Failure,
    *,
    simulator: str = "analytic",
    without_ways: Sequence[str] = (),
    look_ahead: bool = False,
    on_progress: Progress = silent,
) -> Prediction:
    """Simulate a plan before a failure, right after it, and after every possible repair.

    Parameters
    ----------
    simulator : str
        Name of the simulator for all of them.
    without_ways : sequence of str
        Kinds of repair to leave out, such as those for which there is no hardware.
    look_ahead : bool
        See :func:`topoopt.studies.failure.situation`.

    Raises
    ------
    InvalidInput
        If the plan has no such part, or a name is unknown.
    Infeasible
        If nothing helps.
    """
    state = situation(plan, failure, look_ahead)
    on_progress("simulating: before", 0, len(WAYS) + 1)
    before = simulated(plan.job, plan.strategy, plan.fabric, simulator)
    rows = []
    for index, way in enumerate(WAYS.values(), 1):
        if way.name not in without_ways:
            on_progress(f"simulating: {way.name}", index, len(WAYS) + 1)
            rows.append(_tried(way, state, before, simulator))
    possible = [row for row in rows if row.repair is not None]
    if not possible:
        reasons = (
            "; ".join(f"{row.way.name}: {row.reason}" for row in rows if row.meant) or "nothing stands by"
        )
        raise Infeasible(
            f"fail: nothing repairs {failure} ({reasons}); replace what has failed, or plan with more interfaces"
        )
    at_once = next(row for row in rows if row.way.name == AT_ONCE)
    return Prediction(state, before, at_once, tuple(rows), _best(possible))


def repaired_plan(prediction: Prediction) -> Plan:
    """Return the plan after the chosen repair, with new figures.

    Raises
    ------
    InvalidInput
        If the repaired job cannot be written as a plan.
    """
    row, plan = prediction.chosen, prediction.situation.plan
    repair, result = row.repair, row.result
    assert repair is not None, "a chosen repair is possible"
    assert result is not None, "and simulated"
    fabric, job = _writable(repair.fabric), repair.job
    traffic = job_traffic(job, repair.strategy)
    least, routing = iteration_bounds(job, repair.strategy, result), routing_gap(fabric, traffic, result)
    return replace(
        plan,
        job=job,
        strategy=repair.strategy,
        fabric=fabric,
        outcome=outcome(result),
        bounds=least,
        routing_gap=routing,
        baselines=(),
        skipped_fabrics=(),
        gap_parts=gap_parts(
            job, repair.strategy, fabric, result, least, optimal_load_s=routing.optimal_load_s
        ),
    )


def _tried(way: Way, state: Situation, before: SimResult, simulator: str) -> RepairRow:
    if not isinstance(state.failure, way.failures):
        return RepairRow(way, None, None, 0.0, way.otherwise, meant=False)
    try:
        repair = way.of(state)
        result = simulated(repair.job, repair.strategy, repair.fabric, simulator)
    except (Infeasible, NoRoute) as error:
        return RepairRow(way, None, None, 0.0, str(error))
    samples = repair.job.global_batch / state.plan.job.global_batch
    return RepairRow(way, repair, result, samples * before.iteration_time_s / result.iteration_time_s)


def _best(rows: Sequence[RepairRow]) -> RepairRow:
    fastest = max(row.speed for row in rows)
    return min(
        (row for row in rows if row.speed >= fastest * (1 - AS_GOOD)),
        key=lambda row: (row.moved_fibers, -row.speed),
    )


def _writable(fabric: Fabric) -> Fabric:
    """Return the fabric with routes that a plan file can hold."""
    if not isinstance(fabric.routes, DetouredRoutes):
        return fabric
    servers = range(fabric.topology.servers)
    table = fabric.routes.written_down((a, b) for a in servers for b in servers if a != b)
    return replace(fabric, routes=table)
