"""Task graphs on the plain packet simulator: what is ready when, and what it sends."""

import itertools
from collections import deque
from collections.abc import Callable

from tests.oracles.plain_packets import PS, Act, Network
from topoopt.simulation import COLLECTIVES, COMPUTE, TRANSFER, TaskGraph

Edge = tuple[int, int, tuple[int, ...]]
"""Source, destination, and the nodes on the way; none where the routes of the pair say."""


class Player:
    """One run of a task graph; ``start`` and ``finish`` of its tasks, ps, are there after the constructor."""

    def __init__(self, graph: TaskGraph, network: Network) -> None:
        self.graph, self.network = graph, network
        self.start, self.finish = [-1] * len(graph), [-1] * len(graph)
        self.waits_for = graph.predecessors.tolist()
        self.line: dict[int, deque[int]] = {}
        for task in range(len(graph)):
            if graph.predecessors[task] == 0:
                self.ready(task)
        network.run()

    def ready(self, task: int) -> None:
        """All predecessors are finished."""
        if self.graph.kind[task] == COMPUTE:
            line = self.line.setdefault(int(self.graph.device[task]), deque())
            line.append(task)
            if len(line) == 1:
                self.compute(line)
            return
        self.start[task] = self.network.now
        begin = self.transfer if self.graph.kind[task] == TRANSFER else self.collective
        self.after(self.duration(task), lambda: begin(task))

    def duration(self, task: int) -> int:
        return round(float(self.graph.duration_s[task]) * PS)

    def after(self, delay: int, happen: Act) -> None:
        if delay:
            self.network.at(self.network.now + delay, happen)
        else:
            happen()

    def compute(self, line: deque[int]) -> None:
        """Run the first in a device's line, and then the others; it stays in line while it runs."""
        task = line[0]
        self.start[task] = self.network.now

        def end() -> None:
            line.popleft()
            if line:
                self.compute(line)
            self.finished(task)

        self.network.at(self.network.now + self.duration(task), end)

    def finished(self, task: int) -> None:
        self.finish[task] = self.network.now
        first, last = self.graph.successor_first[task : task + 2].tolist()
        for after in sorted(self.graph.successor[first:last].tolist()):
            self.waits_for[after] -= 1
            if not self.waits_for[after]:
                self.ready(after)

    def transfer(self, task: int) -> None:
        src, dst, size = (int(getattr(self.graph, name)[task]) for name in ("src", "dst", "size_bytes"))
        if src == dst or size == 0:
            self.finished(task)
        else:
            self.network.connect(task, src, dst, size, lambda: self.finished(task))

    def collective(self, task: int) -> None:
        members, size = self.graph.members(task), int(self.graph.size_bytes[task])
        if len(members) == 1 or size == 0:
            self.finished(task)
        elif COLLECTIVES[self.graph.collective[task]] == "all-to-all":
            self.all_to_all(task, members, size // len(members))
        else:
            self.rings(task, members, size)

    def all_to_all(self, task: int, members: tuple[int, ...], size: int) -> None:
        """Everybody sends to all others at once, to the next member first."""
        k = len(members)
        pairs = [(members[i], members[(i + step) % k]) for step in range(1, k) for i in range(k) if size]
        one_less = countdown(len(pairs), lambda: self.finished(task))
        for src, dst in pairs:
            self.network.connect(task, src, dst, size, one_less)
        if not pairs:
            self.finished(task)

    def rings(self, task: int, members: tuple[int, ...], size: int) -> None:
        """Each ring of the group takes its part on its own."""
        k = len(members)
        rounds = (k - 1) * (2 if COLLECTIVES[self.graph.collective[task]] == "allreduce" else 1)
        rings = self.network.fabric.rings.get(tuple(sorted(members)), ())
        loops = [ring_edges(ring.walk, ring.members) for ring in rings]
        loops = loops or [[(a, b, ()) for a, b in zip(members, members[1:] + members[:1], strict=True)]]
        one_less = countdown(len(loops), lambda: self.finished(task))
        for loop in loops:
            self.ring_round(task, loop, size // (len(loops) * k), rounds, one_less)

    def ring_round(self, task: int, edges: list[Edge], size: int, rounds: int, done: Act) -> None:
        """Every member sends to its neighbor, an empty part too; when all have, the next round begins."""
        if not rounds:
            done()
            return
        one_less = countdown(len(edges), lambda: self.ring_round(task, edges, size, rounds - 1, done))
        for src, dst, nodes in edges:
            self.network.connect(task, src, dst, size, one_less, nodes)


def countdown(count: int, done: Act) -> Callable[[], None]:
    """Return what calls ``done`` when it is called for the last of ``count`` times."""
    left = [count]

    def one_less() -> None:
        left[0] -= 1
        if left[0] == 0:
            done()

    return one_less


def ring_edges(walk: tuple[int, ...], members: tuple[int, ...]) -> list[Edge]:
    """Cut a closed walk that begins at a member into the ways from each member to the next."""
    cuts = [place for place, node in enumerate(walk) if node in members] + [len(walk)]
    closed = (*walk, walk[0])
    ways = [closed[a : b + 1] for a, b in itertools.pairwise(cuts)]
    return [(way[0], way[-1], way) for way in ways]
