"""What a failure costs: iteration time before it, as soon as it is there, and after each possible repair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from topoopt.base.errors import Infeasible, NoRoute
from topoopt.jobs import job_traffic
from topoopt.plans import Plan
from topoopt.routing import Fabric
from topoopt.search import bounds, gap_parts, outcome, routing_gap, simulated
from topoopt.simulation import SimResult
from topoopt.studies.failure.detours import DetouredRoutes
from topoopt.studies.failure.failed import Failure, Situation, situation
from topoopt.studies.failure.repair import Repair, Way
from topoopt.studies.failure.ways import AT_ONCE, WAYS

AS_GOOD = 0.01
"""Of repairs whose speed differs by less than this fraction the one with the fewest moves is chosen."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class RepairRow:
    """A repair and what it is worth.

    Attributes
    ----------
    repair, result
        None where it is not possible; ``reason`` then says why.
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
        What happens at once, before anybody does anything.
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
        """The fastest way to go on until fibers have been moved: one that moves none, if the job has not stopped."""
        still = [row for row in self.rows if row.repair is not None and not row.moved_fibers]
        return max((row for row in still), key=lambda row: row.speed, default=self.during)

    @property
    def failure(self) -> Failure:
        """What has failed."""
        return self.situation.failure


def predict(
    plan: Plan,
    failure: Failure,
    *,
    simulator: str = "analytic",
    without_ways: Sequence[str] = (),
    on_progress: Progress = lambda stage, done, total: None,
) -> Prediction:
    """Simulate a plan before a failure, right after it, and repaired in every way that is possible.

    Parameters
    ----------
    simulator : str
        Name of the simulator for all of them.
    without_ways : sequence of str
        Kinds of repair to leave out, such as those for which there is no hardware.

    Raises
    ------
    InvalidInput
        If the plan has nothing like that to fail, or a name is unknown.
    Infeasible
        If nothing helps.
    """
    state = situation(plan, failure)
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
    """Return the plan as the chosen repair leaves it, with figures of its own.

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
    least, routing = bounds(job, repair.strategy, result), routing_gap(fabric, traffic, result)
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
