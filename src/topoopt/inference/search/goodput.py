"""A deployment simulated request by request: at the requested rate, at its goodput, and overloaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.inference.deployment import Pool
from topoopt.inference.requests import Objectives
from topoopt.inference.search.candidates import Candidate
from topoopt.inference.search.closed_form import Demand
from topoopt.inference.search.deployment_file import split_words
from topoopt.inference.simulator import Fleet, ServingRun, simulate_serving
from topoopt.inference.simulator.kernel.layout import Clock
from topoopt.inference.step_table import StepTable

HELD_BACK = 0.1
"""Share of the busy time with requests before a full memory, or before all places taken, from which that is it."""
FULL = 0.8
"""Utilization of replicas below which waiting is due to bursts."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Bottleneck of a deployment.

    Attributes
    ----------
    what : str
        ``compute``, ``memory bandwidth``, ``KV capacity``, ``network``, ``overhead`` or ``queue``.
    words : str
        Objective that it limits, and how.
    gains : mapping of str to float
        Relative gain of the goodput when each resource is doubled, where simulated.
    """

    what: str
    words: str
    gains: Mapping[str, float] = field(default_factory=dict)


EXACT = 0.01
"""Relative accuracy of a goodput."""
MOST_HALVINGS = 12
FleetAt = Callable[[float], Fleet]
"""A deployment as a function of the request rate: busier links make it slower."""
MOST_BISECTED = 10_000
"""Requests simulated to find the goodput; more are simulated once, at the requested rate."""
OVERLOAD = 1.25
"""Multiple of the closed forms' stable rate at which the simulation is overloaded to measure capacity."""
LONG, MOST_REPEATED = 8, 100_000
"""Times of a request for which they come then; and how many of them at most."""
KEPT_UP, MOST_DOUBLINGS, HALVINGS = 0.95, 8, 5
"""Share of served requests above which there is no overload; the rate is then doubled, or reduced again."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A simulated deployment.

    Attributes
    ----------
    run : ServingRun
        Run at the requested rate; without one, at the goodput.
    at_goodput : ServingRun
        Run at the goodput, if there is one.
    goodput_per_s : float
        Requests a second at which enough meet both objectives.
    stable_per_s : float
        Requests a second when there is always something to do.
    binding : Binding
        Bottleneck at the goodput.
    """

    candidate: Candidate
    run: ServingRun
    at_goodput: ServingRun
    goodput_per_s: float
    stable_per_s: float
    binding: Binding

    @property
    def words(self) -> str:
        """Short description of the deployment."""
        deployment = self.candidate.deployment
        if deployment.prefill is None:
            return f"{deployment.mode}, {pool_words(deployment.decode)}"
        return f"{pool_words(deployment.prefill)} read, {pool_words(deployment.decode)} answer"

    @property
    def accelerators(self) -> int:
        """Accelerators in use."""
        return self.candidate.deployment.accelerators


def pool_words(pool: Pool) -> str:
    """Return a pool in short, such as ``4 × TP8``."""
    return f"{pool.replicas} × {split_words(pool.parallelism)}"


def evaluated(demand: Demand, objectives: Objectives, one: Candidate, fleet_at: FleetAt) -> Evaluated:
    """Return a deployment simulated."""
    if demand.requests.clients:
        run = simulate_serving(fleet_at(one.rate_per_s), demand.at(0.0))
        met = run.attainment(objectives) >= objectives.share
        rate = len(run.requests) / run.end_s
        return Evaluated(one, run, run, rate if met else 0.0, rate, what_binds(run, objectives))
    few = first_requests(demand, MOST_BISECTED)
    stable = stable_rate(one, fleet_at, few)
    best = min(goodput(fleet_at, few, objectives, one.rate_per_s), stable)
    rate = best or one.rate_per_s
    there = simulate_serving(fleet_at(rate), few.at(rate))
    run = there
    if demand.rate_per_s is not None:
        run = simulate_serving(fleet_at(demand.rate_per_s), demand.at(demand.rate_per_s))
    return Evaluated(one, run, there, best, stable, what_binds(there, objectives))


def stable_rate(one: Candidate, fleet_at: FleetAt, demand: Demand) -> float:
    """Return the requests/s served under overload.

    Closed forms ignore cached prefixes; where all meet the objectives, the rate is raised. Where this needs too many
    requests, for hundreds of replicas, the closed form is used.
    """
    rate = OVERLOAD * one.stable_per_s
    if rate * LONG * (one.ttft_s + demand.answer * one.tpot_s) > MOST_REPEATED:
        return one.stable_per_s
    most = 0.0
    for _ in range(MOST_DOUBLINGS):
        answered = _answered_per_s(one, fleet_at(rate), demand, rate)
        if answered < KEPT_UP * rate:
            break
        most, rate = answered, 2 * rate
    # links are as busy as all that come would make them: far above what they carry, hardly anything is answered
    low = most
    for _ in range(HALVINGS if answered < max(most, rate / (2 * OVERLOAD)) else 0):
        middle = (low + rate) / 2
        answered = _answered_per_s(one, fleet_at(middle), demand, middle)
        most = max(most, answered)
        low, rate = (middle, rate) if answered >= KEPT_UP * middle else (low, middle)
    return max(most, answered)


def _answered_per_s(one: Candidate, fleet: Fleet, demand: Demand, rate_per_s: float) -> float:
    """Return the rate of completions in the second half of the arrivals, once the system is in steady state."""
    long_s = LONG * (one.ttft_s + demand.answer * one.tpot_s)
    count = len(demand.requests)
    times = min(int(np.ceil(rate_per_s * long_s / count)), MOST_REPEATED // count)
    requests = replace(demand, requests=demand.requests.repeated(max(times, 1))).at(rate_per_s)
    run = simulate_serving(replace(fleet, failures=(), outages=()), requests)
    end_s = float(requests.arrival_s[-1])
    answered = ((run.answered_s > end_s / 2) & (run.answered_s <= end_s)).sum()
    return float(answered / (end_s / 2))


def first_requests(demand: Demand, count: int) -> Demand:
    """Return the first requests, ``count`` at most."""
    requests = demand.requests
    return demand if len(requests) <= count else replace(demand, requests=requests.taken(slice(count)))


def goodput(
    fleet_at: Callable[[float], Fleet], demand: Demand, objectives: Objectives, guess_per_s: float
) -> float:
    """Return requests a second; 0 if even a trickle misses an objective.

    The same requests, with the same lengths and in the same order, come faster or slower.

    Parameters
    ----------
    fleet_at
        The fleet at a rate: the busier its links are, the longer it takes.
    guess_per_s
        Start of the search.
    """

    def meets(rate_per_s: float) -> bool:
        run = simulate_serving(fleet_at(rate_per_s), demand.at(rate_per_s))
        return run.attainment(objectives) >= objectives.share

    low, high = 0.0, guess_per_s
    for _ in range(MOST_HALVINGS):
        if not meets(high):
            break
        low, high = high, 2 * high
    else:
        return low
    halvings = 0
    while low == 0.0:
        if halvings == MOST_HALVINGS:
            return 0.0
        halvings += 1
        if meets(high / 2):
            low = high / 2
        else:
            high /= 2
    while high - low > EXACT * high:
        middle = (low + high) / 2
        if meets(middle):
            low = middle
        else:
            high = middle
    return low


def what_binds(run: ServingRun, objectives: Objectives) -> Binding:
    """Return the objective that a run misses, or comes nearest to missing, and the bottleneck."""
    ttft_s, tpot_s = run.ttft_s, np.nan_to_num(run.tpot_s)
    share = 100 * objectives.share
    first = float(np.percentile(ttft_s, share)) / objectives.ttft_s
    others = float(np.percentile(tpot_s, share)) / objectives.tpot_s
    return _of_first_tokens(run) if first >= others else _of_other_tokens(run)


def _of_first_tokens(run: ServingRun) -> Binding:
    queue_s, read_s, sent_s = (float(part.mean()) for part in (run.queue_s, run.prefill_s, run.transfer_s))
    reads = _bound_by(run.fleet.pools[0].table, float(run.requests.input_tokens.mean()), prompts=True)
    if sent_s > max(queue_s, read_s):
        return Binding(
            "network", f"its cache is on the way for {sent_s / (queue_s + read_s + sent_s):.0%} of the time"
        )
    if read_s >= queue_s:
        return Binding(reads, "reading a prompt takes most of the time to the first token")
    busy_s = sum(run.seconds(what) for what in (Clock.READING, Clock.ANSWERING, Clock.BOTH))
    if run.seconds(Clock.NO_PAGE) > HELD_BACK * busy_s:
        return Binding("KV capacity", "requests wait before full memories")
    if run.seconds(Clock.NO_PLACE) > HELD_BACK * busy_s:
        return Binding("queue", "requests wait for a place; a larger max_batch would let them in")
    readers = run.fleet.pools[0].pool.replicas
    what = (Clock.READING,) if run.fleet.prefill else (Clock.READING, Clock.ANSWERING, Clock.BOTH)
    busy_share = sum(run.seconds(one) for one in what) / (readers * run.end_s)
    if busy_share < FULL:
        return Binding("queue", "requests wait in bursts, while replicas have nothing to do at other times")
    return Binding(reads, "replicas that read prompts are busy all the time")


def _of_other_tokens(run: ServingRun) -> Binding:
    answering_s = run.seconds(Clock.ANSWERING) + run.seconds(Clock.BOTH)
    reading_s = run.seconds(Clock.READING) if run.fleet.prefill is None else 0.0
    if reading_s > answering_s or run.seconds(Clock.BOTH) > answering_s / 2:
        return Binding("compute", "prefill of other requests delays decoding")
    if run.seconds(Clock.OF_CACHES) > answering_s / 2:
        return Binding("memory bandwidth", "a step reads the caches of all its requests for most of its time")
    batch = run.seconds(Clock.BATCH_S) / max(answering_s, 1e-30)
    bound = _bound_by(run.fleet.decode.table, batch, prompts=False)
    if bound == "compute":
        return Binding(bound, f"a step of {batch:,.0f} answers is arithmetic for the most part")
    return Binding(bound, f"a step of {batch:,.0f} answers takes nearly as long as one of a single answer")


def _bound_by(table: StepTable, tokens: float, prompts: bool) -> str:
    """Return the limit of steps with this many tokens: compute if doubling the tokens doubles the time, else memory."""
    base = table.prefill_base_s if prompts else table.base_s
    own = tokens if prompts else tokens / table.stages
    one, two = np.interp((own, 2 * own), table.tokens, base)
    return "compute" if two / one > np.sqrt(2) else "memory bandwidth"
