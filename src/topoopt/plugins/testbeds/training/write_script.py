"""Scripts from a task graph: the part of each server in every task, scaled."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds.training.job import Scale
from topoopt.plugins.testbeds.training.script import (
    Action,
    Compute,
    Exchange,
    Receive,
    Reduce,
    Rings,
    Send,
    ServerScript,
    Step,
)
from topoopt.routing import Fabric
from topoopt.simulation import COLLECTIVE, COLLECTIVES, COMPUTE, TRANSFER, TaskGraph

NUMBER_BYTES = 4
"""Collectives are of 32-bit integers, whose sums are checked."""
MOST_STEPS = 100_000
"""Most steps of all servers together: more take longer to distribute than to run."""


class _Message(NamedTuple):
    src: int
    dst: int
    waits_for: tuple[int, ...]
    delay_s: float


@dataclass
class _Draft:
    """Steps of one server under construction, with the tasks that each waits for and represents."""

    actions: list[Action] = field(default_factory=list)
    waits: list[tuple[int, ...]] = field(default_factory=list)
    delays_s: list[float] = field(default_factory=list)
    tasks: list[tuple[int, ...]] = field(default_factory=list)
    step_of: dict[int, int] = field(default_factory=dict)  # by task, of what this server knows the end of

    def add(
        self,
        action: Action,
        waits: tuple[int, ...],
        delay_s: float,
        tasks: tuple[int, ...],
        known: bool = True,
    ) -> None:
        """Add a step; ``known`` if the tasks are done when it is."""
        if known:
            self.step_of.update(dict.fromkeys(tasks, len(self.actions)))
        self.actions.append(action)
        self.waits.append(waits)
        self.delays_s.append(delay_s)
        self.tasks.append(tasks)


def write_scripts(
    graph: TaskGraph, fabric: Fabric, scale: Scale, ready_s: Sequence[float]
) -> tuple[ServerScript, ...]:
    """Return the script of every server for one iteration.

    Sizes are divided by ``scale.size``, computing and delays last ``scale.time`` times as long.

    Parameters
    ----------
    graph : TaskGraph
        Task graph of one iteration.
    fabric : Fabric
        Fabric whose rings collectives use; a group without any has one in the order of its members.
    ready_s : sequence of float, one for each task
        Simulated time at which each task is ready, which orders the collectives of a group.

    Raises
    ------
    Infeasible
        If there are too many steps, or a server would have to wait for a task without its participation.
    """
    waits: dict[int, list[int]] = defaultdict(list)
    for before, after in zip(graph.waited_for.tolist(), graph.successor.tolist(), strict=True):
        waits[after].append(before)
    drafts = [_Draft() for _ in range(graph.servers)]
    for task in (graph.kind == COMPUTE).nonzero()[0].tolist():
        action = Compute(int(graph.accelerator[task]), float(graph.duration_s[task]) * scale.time)
        drafts[int(graph.server[task])].add(action, tuple(waits.get(task, ())), 0.0, (task,))
    _add_messages(graph, scale, waits, drafts)
    _add_collectives(graph, fabric, scale, waits, drafts)
    steps = sum(len(draft.actions) for draft in drafts)
    if steps > MOST_STEPS:
        raise Infeasible(
            f"testbed: an iteration is {steps} steps, at most {MOST_STEPS} can be run; join gradients with bucket"
        )
    known = [draft.step_of for draft in drafts]
    return tuple(_script(graph, server, draft, known, ready_s) for server, draft in enumerate(drafts))


def _add_messages(
    graph: TaskGraph, scale: Scale, waits: Mapping[int, Sequence[int]], drafts: Sequence[_Draft]
) -> None:
    joined: dict[_Message, list[int]] = defaultdict(list)
    for task in (graph.kind == TRANSFER).nonzero()[0].tolist():
        ends = int(graph.src[task]), int(graph.dst[task])
        before = tuple(sorted(waits.get(task, ())))
        joined[_Message(*ends, before, float(graph.duration_s[task]) * scale.time)].append(task)
    for message, tasks in joined.items():
        size = max(1, round(float(graph.size_bytes[tasks].sum()) / scale.size))
        send, receive = Send(message.dst, size, tasks[0]), Receive(message.src, size, tasks[0])
        drafts[message.src].add(send, message.waits_for, message.delay_s, tuple(tasks), known=False)
        drafts[message.dst].add(receive, (), 0.0, tuple(tasks))


def _add_collectives(
    graph: TaskGraph,
    fabric: Fabric,
    scale: Scale,
    waits: Mapping[int, Sequence[int]],
    drafts: Sequence[_Draft],
) -> None:
    for task in (graph.kind == COLLECTIVE).nonzero()[0].tolist():
        members = graph.members(task)
        kind, size = COLLECTIVES[graph.collective[task]], float(graph.size_bytes[task]) / scale.size
        action: Action = Reduce(kind, _rings(fabric, members), max(1, round(size / NUMBER_BYTES)))
        if kind == "all-to-all":
            action = Exchange(members, max(1, round(size / len(members))), task)
        delay_s = float(graph.duration_s[task]) * scale.time
        for member in members:
            drafts[member].add(action, tuple(waits.get(task, ())), delay_s, (task,))


def _rings(fabric: Fabric, members: tuple[int, ...]) -> Rings:
    rings = fabric.rings.get(tuple(sorted(members)), ())
    return tuple(ring.members for ring in rings) or (members,)


def _script(
    graph: TaskGraph, server: int, draft: _Draft, known: Sequence[Mapping[int, int]], ready_s: Sequence[float]
) -> ServerScript:
    then: dict[int, list[int]] = defaultdict(list)
    counts = []
    for number, (action, waits) in enumerate(zip(draft.actions, draft.waits, strict=True)):
        here = {draft.step_of[task] for task in waits if task in draft.step_of}
        if len(here) < len(waits):
            _check_others_wait(graph, server, draft, number, known)
        for before in here:
            then[before].append(number)
        counts.append(len(here))
        assert not (isinstance(action, Receive) and here), "a receive is posted before anything happens"
    steps = tuple(
        Step(action, count, tuple(then.get(number, ())), delay_s)
        for number, (action, count, delay_s) in enumerate(
            zip(draft.actions, counts, draft.delays_s, strict=True)
        )
    )
    orders: dict[Rings, list[int]] = defaultdict(list)
    for number, action in enumerate(draft.actions):
        if isinstance(action, Reduce):
            orders[action.rings].append(number)
    for order in orders.values():
        order.sort(key=lambda number: (ready_s[draft.tasks[number][0]], draft.tasks[number]))
    return ServerScript(steps, tuple(map(tuple, orders.values())))


def _check_others_wait(
    graph: TaskGraph, server: int, draft: _Draft, number: int, known: Sequence[Mapping[int, int]]
) -> None:
    """Refuse a step that would begin too early: its dependency is unknown on this server.

    A collective may wait elsewhere, since no member gets far without the others.
    """
    action = draft.actions[number]
    members: tuple[int, ...] = (server,)
    if isinstance(action, Reduce):
        members = action.rings[0]
    elif isinstance(action, Exchange):
        members = action.members
    for task in draft.waits[number]:
        if not any(task in known[member] for member in members):
            raise Infeasible(
                f"testbed: {graph.name(draft.tasks[number][0])} waits for {graph.name(task)}, "
                f"of which server {server} learns nothing"
            )
