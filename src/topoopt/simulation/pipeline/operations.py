"""How long each communication of a pipelined step takes on a fabric, those that begin together at once."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import Fabric
from topoopt.simulation.draft import Draft
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.pipeline.link_time import LinkTime, link_time
from topoopt.simulation.pipeline.order import add_transfers
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, add_exchange
from topoopt.simulation.pipeline.queues import Around
from topoopt.workloads.pipelined_step import PASSES, Exchange, PipelinedStep


@dataclass(frozen=True, eq=False)
class Operations:
    """Seconds of the communications of a step.

    Attributes
    ----------
    sent_s : float64 array, shape (2, chunks, replicas)
        Of what chunk c sends on, and of what comes back to it; 0 inside a server.
    inside_s : float64 array, shape (directions, chunks)
        Of all exchanges inside a pass.
    around_s : mapping from an exchange before or after a pass to its seconds
        See :data:`~topoopt.simulation.pipeline.queues.Around`.
    links : LinkTime
    gradients, parameters : tuples of int64 arrays, one per synchronization
        Tasks of ``links``.
    """

    sent_s: Floats
    inside_s: Floats
    around_s: dict[Exchange, Around]
    links: LinkTime
    gradients: tuple[Ints, ...]
    parameters: tuple[Ints, ...]


def operations(step: PipelinedStep, fabric: Fabric, options: SimulationOptions) -> Operations:
    """Return the communications of a step on a fabric."""
    draft = Draft()
    sends = _add_sends(draft, step)
    exchanges = [_add(draft, one) for one in step.exchanges]
    gradients, parameters = (
        tuple(
            draft.add_collective(kind or one.collective, one.members, getattr(one, size), 0.0, 1, 0, 0)
            for one in step.synchronizations
        )
        for kind, size in (("", "size_bytes"), ("all-gather", "gather_bytes"))
    )
    links = link_time(draft.graph(step.servers, 1, ("",) * len(step.chunks)), fabric, options)
    around = {
        one: _around_s(one, tasks, links)
        for one, tasks in zip(step.exchanges, exchanges, strict=True)
        if one.moment != "inside"
    }
    inside_s = _inside_s(step, exchanges, links)
    return Operations(_sent_s(step, sends, links), inside_s, around, links, gradients, parameters)


def _add(draft: Draft, one: Exchange) -> Ints:
    first = draft.count
    add_exchange(draft, one, one.count, np.zeros((0, 1), np.int64))
    return np.arange(first, draft.count)


def _around_s(one: Exchange, tasks: Ints, links: LinkTime) -> Around:
    fixed_s = links.fixed_s(tasks)
    return one.delay_s + fixed_s, float(links.together(tasks).max()) - fixed_s, one.count


def _add_sends(draft: Draft, step: PipelinedStep) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    sends = {}
    for chunk in range(len(step.chunks)):
        after = step.neighbor(chunk, 1)
        if after is None:
            continue
        ends = [step.part_servers[step.chunk_stage[one]] for one in (chunk, after)]
        for direction, (src, dst) in ((FORWARD, ends), (BACKWARD, ends[::-1])):
            owner, _, tasks = add_transfers(draft, (src, dst), step.chunks[chunk], direction, chunk, 1)
            sends[direction, chunk] = owner, tasks[:, 0]
    return sends


def _sent_s(step: PipelinedStep, sends: dict[tuple[int, int], tuple[Ints, Ints]], links: LinkTime) -> Floats:
    sent_s = np.zeros((2, len(step.chunks), step.replicas))
    for (direction, chunk), (owner, tasks) in sends.items():
        taken_s = links.together(tasks) + step.chunks[chunk].output_delay_s
        np.maximum.at(sent_s[direction, chunk], owner, taken_s)
    return sent_s


def _inside_s(step: PipelinedStep, exchanges: list[Ints], links: LinkTime) -> Floats:
    """Return the sum over turns of the longest exchange of each turn, shape (directions, chunks)."""
    turns: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, one in enumerate(step.exchanges):
        if one.moment == "inside":
            turns[PASSES.index(one.direction), one.chunk, one.turn].append(index)
    inside_s = np.zeros(step.pass_s.shape)
    for (direction, chunk, _), indices in turns.items():
        tasks = [exchanges[index] for index in indices]
        taken_s = links.together(np.concatenate(tasks))
        longest = np.maximum.reduceat(taken_s, np.cumsum([0, *map(len, tasks)])[:-1])
        delays = np.array([step.exchanges[index].delay_s for index in indices])
        inside_s[direction, chunk] += float((longest + delays).max())
    return inside_s
