"""Planning of a reinforcement learning step: default splits of pools, and the resulting step."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import NETWORKS, OWN, check_networks, compare, find_accelerator
from topoopt.inference import Parallelism
from topoopt.pricing import OwnershipTerms, Pricing, known_price, ownership
from topoopt.reinforcement.fabrics import (
    OPTICAL_SWITCH,
    TOPOOPT_OCS,
    FabricRow,
    Ports,
    Rewiring,
    Turn,
    fixed_fabric,
    network_s,
    phase_seconds,
    ports_of,
    static_or_changed,
)
from topoopt.reinforcement.job import Constants, RlJob
from topoopt.reinforcement.phase_traffic import least_s, rollout_traffic, training_traffic, weights_traffic
from topoopt.reinforcement.phases import (
    MAX_BATCH,
    RolloutPhase,
    TrainingPhase,
    best_rollout,
    rollout_choices,
    training_phase,
)
from topoopt.reinforcement.step import Phases, RlStep, take_turns
from topoopt.reinforcement.weight_sync import (
    WAYS,
    Places,
    WeightTraffic,
    find_weight_transport,
    least_network_s,
    transport_for,
    weight_bytes,
    weight_moves,
    weight_traffic,
)
from topoopt.routing import Fabric
from topoopt.transformers import Calibration
from topoopt.workloads import Traffic

USUAL_TRANSPORTS = {
    "colocated": "nccl",
    "one-step-off": "checkpoint-engine",
    "asynchronous": "checkpoint-engine",
}
"""Default transports: engines on the training accelerators wake up and reload; others load in place."""

MOST_SPLITS = 12
"""Sizes of the rollout's pool that are tried, evenly spaced, before those around the best."""


@dataclass(frozen=True)
class RlRequest:
    """Parameters of a step.

    Attributes
    ----------
    rollout_accelerators : int or None
        Accelerators of the rollout pool; searched where None. All of them where pools take turns.
    rollout : Parallelism or None
        Split of a replica; searched where None.
    training : mapping
        Fields of :class:`~topoopt.transformers.Configuration` that are not searched.
    way, transport : str
        Method and software of weight transfer; empty for the fastest method, and for :data:`USUAL_TRANSPORTS`.
    """

    job: RlJob
    calibration: Calibration
    constants: Constants
    rollout_accelerators: int | None = None
    rollout: Parallelism | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    max_batch: int = MAX_BATCH
    way: str = ""
    transport: str = ""


def plan_step(request: RlRequest) -> RlStep:
    """Return the step; of pools that are not given, with the split that makes it shortest.

    Raises
    ------
    InvalidInput
        If given options are inconsistent.
    Infeasible
        If the model does not fit in any split of pools.
    """
    job = request.job
    if not job.disjoint:
        return _with_pools(request, job.accelerators, job.accelerators)
    given = request.rollout_accelerators
    if given is not None:
        if not 1 <= given < job.accelerators:
            raise InvalidInput(
                f"rollout_accelerators: expected 1 to {job.accelerators - 1} of {job.accelerators}, got {given}; "
                "the rest trains"
            )
        return _with_pools(request, given, job.accelerators - given)
    sizes = _pool_sizes(request)
    spaced = {sizes[round(place * (len(sizes) - 1) / (MOST_SPLITS - 1))] for place in range(MOST_SPLITS)}
    found, failures = _tried(request, sorted(spaced))
    if not found:
        raise failures[len(failures) // 2]
    best = min(found, key=lambda one: one.step_s).rollout_accelerators
    place = sizes.index(best)
    near = set(sizes[max(0, place - 2) : place + 3]) - spaced
    found += _tried(request, sorted(near))[0]
    return min(found, key=lambda one: one.step_s)


def _pool_sizes(request: RlRequest) -> list[int]:
    """Return the sizes of a rollout's pool: whole servers and whole replicas, and some accelerators left to train."""
    job = request.job
    server = job.system.accelerators_per_server
    unit = server if job.accelerators >= 2 * server else 1
    unit = math.lcm(unit, request.rollout.accelerators if request.rollout else 1)
    sizes = list(range(unit, job.accelerators, unit))
    if not sizes:
        raise InvalidInput(
            f"accelerators {job.accelerators}: replicas of whole servers take {unit} of them and leave none to train; "
            "give more, or say rollout_accelerators"
        )
    return sizes


def _tried(request: RlRequest, sizes: Iterable[int]) -> tuple[list[RlStep], list[InvalidInput | Infeasible]]:
    found: list[RlStep] = []
    failures: list[InvalidInput | Infeasible] = []
    for size in sizes:
        try:
            found.append(_with_pools(request, size, request.job.accelerators - size))
        except (InvalidInput, Infeasible) as error:
            failures.append(error)
    return found, failures


def _with_pools(request: RlRequest, rollout_accelerators: int, training_accelerators: int) -> RlStep:
    job, constants = request.job, request.constants
    per_server = job.system.accelerators_per_server
    choices = (
        rollout_choices(job, rollout_accelerators, per_server)
        if request.rollout is None
        else (request.rollout,)
    )
    rollout = best_rollout(job, rollout_accelerators, choices, request.max_batch, constants)
    training = training_phase(job, training_accelerators, request.training, request.calibration, constants)
    places = Places(training_accelerators, rollout_accelerators, per_server, job.disjoint)
    found = _weight_traffics(request.job, rollout, training, places, request.way)
    traffic = min(found, key=lambda one: one.busiest_bytes)
    size_bytes = sum(weight_bytes(job.model, job.rollout_precision))
    word = request.transport or USUAL_TRANSPORTS[job.policy]
    transport = transport_for(word, size_bytes, find_accelerator(job.system.accelerator).usable_memory_bytes)
    network = least_network_s(
        traffic, job.system.network_bandwidth_bps * per_server, job.system.network_latency_s
    )
    sync_s = transport.sync_s(size_bytes, network)
    phases = Phases(rollout, training, sync_s, constants.step_overhead_s)
    return RlStep(
        job,
        rollout_accelerators,
        training_accelerators,
        rollout,
        training,
        take_turns(job, phases),
        traffic,
        size_bytes,
        transport.name,
        sync_s,
        network,
        least_s(rollout_traffic(job, rollout, places), job.system.network_bandwidth_bps * per_server),
        constants.step_overhead_s,
    )


def _weight_traffics(
    job: RlJob, rollout: RolloutPhase, training: TrainingPhase, places: Places, way: str
) -> list[WeightTraffic]:
    split, replicas = rollout.parallelism, rollout.replicas
    moves = weight_moves(job.model, job.rollout_precision, training.configuration, split, replicas, places)
    return [weight_traffic(move, one) for move in moves for one in ((way,) if way else WAYS)]


def with_fabrics(
    step: RlStep, names: Sequence[str], terms: OwnershipTerms, prices: Pricing, way: str = "", seed: int = 0
) -> RlStep:
    """Return the step with its time and cost on each of the named networks, and one wiring against several.

    A phase waits for the additional time of its bytes compared with a switch that gives every server all of its
    bandwidth.

    Raises
    ------
    InvalidInput, Infeasible
        For an unknown fabric, if all accelerators are in one server, or if no network can be built.
    """
    check_networks("fabric", names, "rl")
    job = step.job
    per_server = job.system.accelerators_per_server
    places = Places(step.training_accelerators, step.rollout_accelerators, per_server, job.disjoint)
    if places.servers < 2:
        raise InvalidInput(
            f"fabrics: {job.accelerators} accelerators are in one server, which needs no network"
        )
    ports = ports_of(job.system)
    traffic: dict[str, Traffic] = {
        "rollout": rollout_traffic(job, step.rollout, places),
        "training": training_traffic(job, step.training.configuration, places),
        "weights": weights_traffic(step.traffic),
    }
    ways = [step.traffic, *_weight_traffics(job, step.rollout, step.training, places, way)]
    every = [*traffic.values(), *(weights_traffic(one) for one in ways)]
    ideal = phase_seconds(traffic, fixed_fabric("ideal-switch", places.servers, ports, every, seed))
    others = {"weights": tuple(weights_traffic(one) for one in ways[1:])}
    turns = [replace(turn, others=others) for turn in _turns(step, traffic, _hidden_s(step, ideal))]
    rewiring = static_or_changed(turns, ports, seed)

    def row_of(name: str) -> FabricRow:
        seconds, best, waited_s = _phase_seconds(name, traffic, ways, rewiring, (ports, seed, every))
        network = known_price(name, places.servers, ports.degree, ports.bandwidth_bps, prices)
        step_s = _step_s(step, seconds, ideal) + waited_s
        return FabricRow(
            name,
            NETWORKS[name].description,
            ports.degree * ports.bandwidth_bps,
            seconds,
            step_s,
            ownership(terms, places.servers, network).usd_for(step_s),
            best,
            network.missing,
            **network.columns,
        )

    rows, skipped = compare(dict.fromkeys(names), row_of).or_infeasible("fabrics")
    return replace(step, fabrics=rows, skipped=skipped, rewiring=rewiring)


def _phase_seconds(
    name: str,
    traffic: Mapping[str, Traffic],
    ways: Sequence[WeightTraffic],
    rewiring: Rewiring | None,
    how: tuple[Ports, int, list[Traffic]],
) -> tuple[dict[str, float], str, float]:
    """Return network times by phase, the method of weight transfer, and the waits for changes of circuits."""
    ports, seed, every = how
    if name == TOPOOPT_OCS and rewiring is not None:
        waited_s = next(one.waited_s for one in rewiring.technologies if one.name == OPTICAL_SWITCH)
        if rewiring.gain_s > waited_s:
            changed = {**dict.fromkeys(traffic, 0.0), **rewiring.phases_s}
            kept, way = _quickest(ways, rewiring.static)
            return changed, way if kept == changed["weights"] else ways[0].way, waited_s
    if name not in (OWN, TOPOOPT_OCS):
        fabric = fixed_fabric(name, every[0].servers, ports, every, seed)
    elif rewiring is not None:
        fabric = rewiring.static
    else:  # nothing is sent, whatever is wired
        fabric = fixed_fabric("ideal-switch", every[0].servers, ports, every, seed)
    seconds = phase_seconds(traffic, fabric)
    weights_s, way = _quickest(ways, fabric)
    return {**seconds, "weights": weights_s}, way, 0.0


def _quickest(ways: Sequence[WeightTraffic], fabric: Fabric) -> tuple[float, str]:
    """Return the network time of the fastest weight transfer, and its name; ties go to the first."""
    each = [(network_s(weights_traffic(one), fabric), place) for place, one in enumerate(ways)]
    seconds, place = min(each)
    return seconds, ways[place].way


def _hidden_s(step: RlStep, ideal: Mapping[str, float]) -> dict[str, float]:
    """Return the network seconds of each phase that make a step no longer: an ideal switch's, or those of software."""
    transport = find_weight_transport(step.transport)
    software_s = transport.software_s(step.weight_bytes) - transport.fixed_s
    hidden_s = {**ideal, "weights": max(software_s, step.network_sync_s)}
    if step.job.disjoint:  # the pool that is done first waits for the other anyway
        ahead_s = step.turns.rollout_s - step.training.time_s
        hidden_s["training"] += max(0.0, ahead_s)
        hidden_s["rollout"] += max(0.0, -ahead_s)
    return hidden_s


def _turns(step: RlStep, traffic: dict[str, Traffic], hidden_s: Mapping[str, float]) -> tuple[Turn, ...]:
    if step.job.disjoint:
        beside = {name: traffic[name] for name in ("rollout", "training")}
        both_s = max(step.turns.rollout_s, step.training.time_s)
        return Turn(beside, both_s, hidden_s), Turn({"weights": traffic["weights"]}, step.sync_s, hidden_s)
    lasting = {"rollout": step.turns.rollout_s, "training": step.training.time_s, "weights": step.sync_s}
    return tuple(Turn({name: one}, lasting[name], hidden_s) for name, one in traffic.items())


def _step_s(step: RlStep, seconds: Mapping[str, float], ideal: Mapping[str, float]) -> float:
    waits = {phase: max(0.0, seconds[phase] - ideal[phase]) for phase in seconds}
    transport = find_weight_transport(step.transport)
    sync_s = transport.sync_s(step.weight_bytes, max(step.network_sync_s, seconds["weights"]))
    phases = Phases(step.rollout, step.training, sync_s, step.overhead_s, waits["rollout"], waits["training"])
    return take_turns(step.job, phases).step_s
