"""Machines with twice as much of one resource: what a deployment would be on them, all else equal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from topoopt.catalog import find_accelerator
from topoopt.inference.fabric_comparison import ServedFabric
from topoopt.inference.network.reach import StepReach
from topoopt.inference.search.candidates import Candidate
from topoopt.inference.search.closed_form import Machine, Split
from topoopt.inference.search.question import Question
from topoopt.inference.simulator import Fleet
from topoopt.inference.step.constants import ServedStack, shipped_constants
from topoopt.inference.step.table import step_table


@dataclass(frozen=True, slots=True)
class Relief:
    """A resource of which there is twice as much.

    Attributes
    ----------
    what : str
        The resource, as an answer calls what binds.
    words : str
        What is done about it.
    doubled, halved : sequence of str
        Constants of the law of a step.
    room : int
        Times the pages of caches.
    sent : int
        Times the bytes a second of caches on their way.
    """

    what: str
    words: str
    doubled: Sequence[str] = ()
    halved: Sequence[str] = ()
    room: int = 1
    sent: int = 1


RELIEFS = (
    Relief("compute", "twice the arithmetic", ("dense_compute", "expert_compute", "pair_compute")),
    Relief(
        "memory bandwidth", "twice the memory bandwidth", ("dense_memory", "expert_memory", "cache_memory")
    ),
    Relief("KV capacity", "twice the room for caches", room=2),
    Relief("network", "twice the bandwidth of all links", ("link", "network"), sent=2),
    Relief(
        "overhead",
        "half of what engine and messages take by themselves",
        (),
        (
            *("layer_s", "step_s", "request_s", "prompt_layer_s", "prompt_step_s"),
            *("reduce_s", "reduce_double_s", "network_reduce_s", "exchange_s"),
        ),
    ),
)


def relieved(question: Question, one: Candidate, relief: Relief) -> Fleet:
    """Return a deployment on machines with twice as much of a resource."""
    decode = _split(question.machine, one.decode, relief)
    prefill = decode if one.prefill is one.decode else _split(question.machine, one.prefill, relief)
    way = replace(question.way, bytes_per_s=relief.sent * question.way.bytes_per_s)
    return replace(question, way=way).fleet(replace(one, decode=decode, prefill=prefill))


def faster_network(row: ServedFabric) -> ServedFabric:
    """Return a fabric whose links have twice the bandwidth, and are as far apart as they were."""
    way = row.on.reach
    reach = replace(
        way,
        prefill=_faster(way.prefill),
        decode=_faster(way.decode),
        kv_s=way.kv_s / 2,
        kv_link_s=way.kv_link_s / 2,
        busy=way.busy / 2,
        kv_busy=way.kv_busy / 2,
    )
    return replace(row, on=replace(row.on, reach=reach))


def _faster(step: StepReach) -> StepReach:
    return replace(
        step,
        link_s_per_token=step.link_s_per_token / 2,
        inside_s_per_token=step.inside_s_per_token / 2,
    )


def _split(machine: Machine, split: Split, relief: Relief) -> Split:
    if not relief.doubled and not relief.halved:
        return replace(split, cache_tokens=relief.room * split.cache_tokens)
    accelerator = find_accelerator(machine.accelerator)
    law = shipped_constants(
        ServedStack(machine.model, accelerator, machine.settings, machine.engine, split=split.parallelism)
    )
    changed = {name: 2 * getattr(law, name) for name in relief.doubled}
    changed |= {name: getattr(law, name) / 2 for name in relief.halved}
    table = step_table(
        machine.model,
        machine.accelerator,
        split.parallelism,
        machine.settings,
        machine.engine,
        replace(law, **changed),
        machine.accelerators_per_server,
    )
    return replace(split, table=table)
