"""A transformer on a fabric in closed form: all configurations once, the few that may win at every network.

What a configuration takes falls with the bandwidth between servers. So of all of them those are kept that no other
beats both on a network that is nearly free and on one that is slow; and these few are weighed again whenever ports,
bandwidth or fabric change, which takes milliseconds.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.frontends.web.closed_form import ClosedForm
from topoopt.frontends.web.fabric_rules import FabricRule
from topoopt.frontends.web.question import Question, machines_of, request_of_question
from topoopt.jobs import in_its_place
from topoopt.search import TrainingRequest, ranked_configurations, training_request
from topoopt.transformers import (
    Calibration,
    ConfigurationTable,
    StepTimes,
    System,
    estimate,
    find_loads,
    in_short,
    system_of,
    weighed_s,
)

FREE_BPS = 1e18
"""Of a network that takes no time."""
SLOW = 64.0
"""A network so many times slower than the one that is asked for is the slowest that counts."""
USUAL_BPS = 400e9
"""Of an accelerator: around which configurations are ranked."""
PARTS = ("compute_s", "bubble_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s")


@dataclass(frozen=True, eq=False, slots=True)
class Contenders:
    """The configurations that may be the fastest on some network, with all that their time depends on."""

    training: TrainingRequest
    calibration: Calibration
    table: ConfigurationTable
    memory_bytes: Floats
    capacity_bytes: float

    def times(self, network_bandwidth_bps: float) -> StepTimes:
        """Return the times of all where an accelerator reaches other servers with so much."""
        training = self.training
        system = replace(system_of(training.cluster), network_bandwidth_bps=network_bandwidth_bps)
        loads = find_loads(training.loads, training.model) if training.loads else None
        return estimate(training.model, self.table, system, self.calibration, loads)


def contenders_of(question: Question) -> Contenders:
    """Return the configurations that may win; those of equal machines and batches are the same.

    Raises
    ------
    InvalidInput
        If the model, the machines and the batch do not go together.
    Infeasible
        If no configuration fits in memory.
    """
    return _contenders(replace(machines_of(question), degree=1, bandwidth_bps=USUAL_BPS))


def on_fabric(found: Contenders, rule: FabricRule) -> ClosedForm:
    """Return the best configuration on a fabric, and its time."""
    bandwidth_bps = rule.server_bandwidth_bps / found.training.cluster.accelerators_per_server
    free, relayed = found.times(bandwidth_bps), found.times(bandwidth_bps / rule.relays)
    if rule.wires_rings:
        seconds = free.iteration_time_s + relayed.ep_s - free.ep_s
        shown = replace(free, ep_s=relayed.ep_s)
    else:
        seconds, shown = relayed.iteration_time_s, relayed
    best = int(np.argmin(weighed_s(seconds, found.memory_bytes, found.capacity_bytes)))
    parts = {name: float(getattr(shown, name)[best]) for name in PARTS}
    return ClosedForm(
        float(seconds[best]),
        float(relayed.iteration_time_s[best]),
        {name: part for name, part in parts.items() if part > 0},
        in_short(found.table.row(best)),
    )


def least_time_s(found: Contenders) -> float:
    """Return the time of the fastest configuration where servers reach each other in no time."""
    return float(found.times(FREE_BPS).iteration_time_s.min())


@lru_cache(maxsize=64)
def _contenders(question: Question) -> Contenders:
    request = request_of_question(question)
    with in_its_place(request):
        training = training_request(request)
        system = replace(system_of(training.cluster), network_bandwidth_bps=USUAL_BPS)
        return _kept(training, system)


def _kept(training: TrainingRequest, system: System) -> Contenders:
    ranked = ranked_configurations(training, replace(system, network_bandwidth_bps=FREE_BPS))
    loads = find_loads(training.loads, training.model) if training.loads else None
    slow = replace(system, network_bandwidth_bps=USUAL_BPS / SLOW)
    slow_s = estimate(training.model, ranked.table, slow, ranked.calibration, loads).iteration_time_s
    capacity = ranked.memory.capacity_bytes
    needed = ranked.memory.total
    rows = unbeaten(
        weighed_s(ranked.times.iteration_time_s, needed, capacity), weighed_s(slow_s, needed, capacity)
    )
    return Contenders(training, ranked.calibration, ranked.table.take(rows), needed[rows], capacity)


def unbeaten(one: Floats, other: Floats) -> Ints:
    """Return the places of rows that no other is below in both columns.

    Examples
    --------
    >>> unbeaten(np.array([1.0, 2.0, 3.0, 2.5]), np.array([9.0, 5.0, 6.0, 4.0])).tolist()
    [0, 1, 3]
    """
    order = np.lexsort((other, one))
    lowest = np.minimum.accumulate(other[order])
    first = np.concatenate([[True], other[order][1:] < lowest[:-1]])
    return np.asarray(order[first], np.int64)
