"""A plan beside other fabrics: a strategy searched for each, then simulated, optionally by several simulators."""

from collections.abc import Sequence
from dataclasses import replace

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import NETWORKS, OWN, check_networks, compared_by
from topoopt.collectives import QUICKEST
from topoopt.plans import Comparison, Outcome, Plan, compared_fabrics, with_ownership
from topoopt.pricing import Pricing
from topoopt.search.baselines import Fidelity, as_settled, outcome_on
from topoopt.search.candidates.candidate import simulated
from topoopt.search.fidelity_comparison import at_fidelities
from topoopt.search.gradient_buckets import is_worth_it, tried_elsewhere
from topoopt.search.options import SearchOptions
from topoopt.search.planner import compare_job, priced, rows_as_planned, sizes_beside
from topoopt.search.starting_strategies import starting_strategy
from topoopt.simulation import SIMULATORS, SimResult, collective_options


def compare_fabrics(
    plan: Plan,
    options: SearchOptions,
    prices: Pricing,
    *,
    fabrics: Sequence[str] | None = None,
    simulators: Sequence[str] = ("analytic",),
    collective: str | None = None,
    on_progress: Progress = silent,
) -> Comparison:
    """Return the job of a plan on its own fabric and on others; see :func:`topoopt.search.compare_job`.

    Strategies are searched with the first simulator, or with flows where that is packets, which would take too long.
    By default, collectives run as requested when the plan was made.
    """
    plan = replace(plan, price=priced(plan.job, prices))  # by the same list as the others
    collective = asked_of(plan) if collective is None else collective
    levels, simulation = tuple(simulators), collective_options(collective)
    quick = "flow" if levels[0] == "packet" else levels[0]
    sizes = sizes_beside(plan.job, compared_by("plan") if fabrics is None else fabrics, prices)
    beside, tried = tried_elsewhere(plan.job, plan.gradients)
    others, skipped = compare_job(
        beside,
        options,
        sizes,
        prices,
        (starting_strategy(plan.job), plan.strategy),  # as a plan does, for the same answer
        on_progress,
        Fidelity(quick, simulation, tried),
    )
    own = _own(plan, Fidelity(quick, simulation))
    others = (*rows_as_planned(plan.job, plan.strategy, plan.fabric, own, sizes, prices), *others)
    rows = compared_fabrics(plan, own, others)
    if levels != (quick,):
        seeded = replace(simulation, seed=options.seed)
        rows = with_ownership(plan, at_fidelities(plan, others, rows, levels, seeded, on_progress))
    cluster = plan.job.cluster
    return Comparison(
        plan.job.name,
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        levels,
        collective,
        rows,
        skipped,
        options.seed,
        prices.name,
        plan.provenance,
        plan.terms,
        dict(plan.origin).get("assumed", ""),
        getattr(plan.job.work, "interval_share", None),
    )


def checked_simulators(simulator: str | None, simulators: Sequence[str] | None) -> tuple[str, ...]:
    """Return the simulators of a comparison; the first gives the times of the table.

    Raises
    ------
    InvalidInput
        For an unknown name, one given twice, less than two of ``simulators``, or both words.
    """
    if simulators is None:
        names: tuple[str, ...] = ("analytic" if simulator is None else simulator,)
    elif simulator is not None:
        raise InvalidInput("simulator: the first of simulators is meant; give one of the two")
    else:
        names = tuple(simulators)
    for name in names:
        check_known("simulator", name, SIMULATORS)
    if simulators is not None and (len(names) < 2 or len(set(names)) < len(names)):
        listed = ",".join(names)
        raise InvalidInput(
            f'simulators: expected two or more different ones, such as flow,packet, got "{listed}"'
        )
    return names


def checked_fabrics(fabrics: Sequence[str] | None, levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the baselines of a comparison, without the plan's own fabric; None for the default ones.

    Raises
    ------
    InvalidInput
        For an unknown name, or circuits that change among several simulators of which one cannot follow them.
    """
    check_networks("fabric", fabrics or (), "plan", OWN)
    others = None if fabrics is None else tuple(name for name in fabrics if name != OWN)
    changing = [name for name in others or () if NETWORKS[name].changes]
    if len(levels) > 1 and changing and "analytic" in levels:
        raise InvalidInput(
            f"simulators: analytic cannot follow the circuits of {' and '.join(changing)}; "
            "leave out one or the other"
        )
    return others


def asked_of(plan: Plan) -> str:
    """Return the requested collective algorithm of a plan."""
    return plan.job.settings.collective if plan.gradients.by_message_s is None else QUICKEST


def _own(plan: Plan, fidelity: Fidelity) -> Outcome:
    if fidelity == Fidelity(plan.outcome.simulator, collective_options(asked_of(plan))):
        return plan.outcome
    rings = outcome_on(plan.job, plan.strategy, plan.fabric, fidelity.of_search)
    if fidelity == fidelity.of_search:
        return rings
    other = outcome_on(plan.job, plan.strategy, plan.fabric, fidelity)
    return other if is_worth_it(other.iteration_time_s, rings.iteration_time_s) else rings


def own_simulation(plan: Plan) -> SimResult:
    """Return the simulation of the plan's iteration, with the collectives settled by the plan."""
    options = as_settled(collective_options(asked_of(plan)), plan.outcome)
    return simulated(plan.job, plan.strategy, plan.fabric, plan.outcome.simulator, options)
