"""How it shows what binds: where the time goes of requests that miss their objectives first as more of them come."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from topoopt.inference.objectives import Objectives
from topoopt.inference.simulator import ServingRun
from topoopt.inference.simulator.kernel.layout import Clock
from topoopt.inference.step_table import StepTable

HELD_BACK = 0.1
"""Share of the busy time with requests before a full memory, or before all places taken, from which that is it."""

FULL = 0.8
"""Share of the time in which replicas are busy, below which waiting comes from bursts."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What binds.

    Attributes
    ----------
    what : str
        ``compute``, ``memory bandwidth``, ``KV capacity``, ``network``, ``overhead`` or ``queue``.
    words : str
        Which objective it touches, and how.
    gains : mapping of str to float
        By what share the goodput grows with twice as much of each resource, where that was simulated.
    """

    what: str
    words: str
    gains: Mapping[str, float] = field(default_factory=dict)


def what_binds(run: ServingRun, objectives: Objectives) -> Binding:
    """Return why requests of a run miss an objective, or come nearest to missing it."""
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
    if _busy_share(run) < FULL:
        return Binding("queue", "requests wait in bursts, while replicas have nothing to do at other times")
    return Binding(reads, "replicas that read prompts are busy all the time")


def _of_other_tokens(run: ServingRun) -> Binding:
    answering_s = run.seconds(Clock.ANSWERING) + run.seconds(Clock.BOTH)
    reading_s = run.seconds(Clock.READING) if run.fleet.prefill is None else 0.0
    if reading_s > answering_s or run.seconds(Clock.BOTH) > answering_s / 2:
        return Binding("compute", "prompts of others come between the tokens of an answer")
    if run.seconds(Clock.OF_CACHES) > answering_s / 2:
        return Binding("memory bandwidth", "a step reads the caches of all its requests for most of its time")
    batch = run.seconds(Clock.BATCH_S) / max(answering_s, 1e-30)
    bound = _bound_by(run.fleet.decode.table, batch, prompts=False)
    if bound == "compute":
        return Binding(bound, f"a step of {batch:,.0f} answers is arithmetic for the most part")
    return Binding(bound, f"a step of {batch:,.0f} answers takes nearly as long as one of a single answer")


def _busy_share(run: ServingRun) -> float:
    readers = run.fleet.pools[0].pool.replicas
    what = (Clock.READING,) if run.fleet.prefill else (Clock.READING, Clock.ANSWERING, Clock.BOTH)
    return sum(run.seconds(one) for one in what) / (readers * run.end_s)


def _bound_by(table: StepTable, tokens: float, prompts: bool) -> str:
    """Return what steps of so many tokens are bound by: twice the tokens take twice as long, or no longer."""
    base = table.prefill_base_s if prompts else table.base_s
    own = tokens if prompts else tokens / table.stages
    one, two = np.interp((own, 2 * own), table.tokens, base)
    return "compute" if two / one > np.sqrt(2) else "memory bandwidth"
