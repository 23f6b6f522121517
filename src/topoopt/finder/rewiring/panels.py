"""Assignment of links to panels: an edge coloring that keeps as many links as possible where they are.

A panel can join a server to as many others as it has interfaces of it, so the links of one color must form a graph
of that degree. With one interface a panel, fibers (directed) can always be divided, since a bipartite multigraph
of degree d is a union of d matchings (König). Cables (duplex) sometimes cannot; with two interfaces a panel they
can, since a graph of even degree is a union of 2-factors (Petersen).
"""

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

Pair = tuple[int, int]
Panels = dict[Pair, list[int]]
"""Number of links of each pair through each panel."""

LARGEST_FEASIBLE = 512
"""Pairs × panels up to which integer programming looks for a division where none was found along chains."""
_MOST_THROWN = 2  # times the links
_MOST_ORDERS = 16  # of the links, in which they are divided anew
_MOST_NODES = 50  # of the branch-and-bound tree


@dataclass(frozen=True, slots=True)
class DivisionProblem:
    """Links to be divided among panels, and the interfaces of each panel.

    Attributes
    ----------
    links : mapping from (vertex, vertex) to how many links join them
        Number of links per pair of vertices. With directed links, the two sides of a server are two vertices.
    room : sequence of int
        Interfaces that each panel has of every vertex.
    before : mapping from (vertex, vertex) to how many of its links go through each panel now
        Links of each pair through each panel now; as many as possible stay. They fit, being part of today's
        patches.
    dead : mapping from (vertex, panel) to how many of its interfaces there do not work
    """

    links: Mapping[Pair, int]
    room: Sequence[int]
    before: Mapping[Pair, Sequence[int]]
    dead: Mapping[tuple[int, int], int]

    def room_at(self, vertex: int, panel: int) -> int:
        """Return the number of working interfaces of a vertex on a panel."""
        return self.room[panel] - self.dead.get((vertex, panel), 0)


def divide_among_panels(problem: DivisionProblem, largest_exact: int = 256) -> tuple[Panels, bool] | None:
    """Return through which panels the links go, and whether more of them could stay; None if they do not fit.

    Parameters
    ----------
    largest_exact : int
        Pairs × panels up to which integer programming looks for more links that stay; where no division was found
        at all, it looks for one up to :data:`LARGEST_FEASIBLE`.

    Returns
    -------
    panels, proven
        Proven: no division keeps more.
    """
    links, before = problem.links, problem.before
    most = sum(min(count, sum(before.get(pair, ()))) for pair, count in links.items())
    coloring = _divided(problem)
    if coloring is not None and coloring.kept() == most:
        return coloring.panels(), True
    if len(links) * len(problem.room) <= (largest_exact if coloring is not None else LARGEST_FEASIBLE):
        exact = _integer_program(problem)
        if exact is not None:
            return exact
    return (coloring.panels(), False) if coloring is not None else None


def improved_division(problem: DivisionProblem, panels: Panels) -> Panels:
    """Return a division in which more links stay, by exchanges of two panels along chains, where there is one."""
    if max(problem.room) > 1:
        return panels
    coloring = _Coloring(problem, anew=True, divided=panels)
    coloring.improve()
    return coloring.panels()


def _divided(problem: DivisionProblem) -> "_Coloring | None":
    """Return a division found along chains; None if no order of the links that is tried succeeds.

    First, present links stay, and the others are inserted. If that fails, all links are divided anew, in other
    orders, and panels are exchanged afterwards so that links stay.
    """
    links = problem.links
    coloring = _Coloring(problem)
    done = coloring.complete()
    rng, pairs = np.random.default_rng(len(links)), list(links)
    for _ in range(_MOST_ORDERS):
        if done:
            break
        shuffled = {pairs[place]: links[pairs[place]] for place in rng.permutation(len(pairs))}
        coloring = _Coloring(replace(problem, links=shuffled), anew=True)
        done = coloring.complete()
    if not done:
        return None
    if max(problem.room) == 1:
        coloring.improve()
    return coloring


class _Coloring:
    """Links with their panels so far; a link that finds no panel pushes others along an alternating chain."""

    def __init__(self, problem: DivisionProblem, anew: bool = False, divided: Panels | None = None) -> None:
        self._problem = problem
        self._panels = range(len(problem.room))
        self._ends: list[Pair] = []
        self._panel: list[int] = []
        self._wish: list[int] = []
        self._at: dict[tuple[int, int], list[int]] = {}  # (vertex, panel) to the links there
        for pair, count in problem.links.items():
            stays = [panel for panel, old in enumerate(problem.before.get(pair, ())) for _ in range(old)][
                :count
            ]
            given = (
                [p for p, now in enumerate(divided[pair]) for _ in range(now)] if divided else [-1] * count
            )
            for wish, panel in zip([*stays, *([-1] * (count - len(stays)))], given, strict=True):
                self._ends.append(pair)
                self._wish.append(wish)
                self._panel.append(-1)
                if panel >= 0 or (wish >= 0 and not anew):
                    self._put(len(self._ends) - 1, max(panel, wish) if panel < 0 else panel)

    def complete(self) -> bool:
        """Find a panel for every link that has none; one that finds none throws another out, but not for ever."""
        pending = deque(link for link, panel in enumerate(self._panel) if panel < 0)
        rng = np.random.default_rng(len(self._panel))
        throws = _MOST_THROWN * len(self._panel)
        while pending:
            link = pending.popleft()
            if self._insert(link):
                continue
            throws -= 1
            if throws < 0 or not self._throw_in(link, pending, rng):
                return False
        return True

    def _throw_in(self, link: int, pending: deque[int], rng: np.random.Generator) -> bool:
        """Assign the link to a panel with a free port at one of its ends, and evict the other end's link there."""
        a, b = self._ends[link]
        options = [
            (self._panel[other] == self._wish[other], rng.random(), panel, other)
            for near, far in ((a, b), (b, a))
            for panel in self._free(near)
            for other in self._at.get((far, panel), ())
        ]
        if not options:
            return False
        _, _, panel, thrown = min(options)
        self._take(thrown)
        pending.append(thrown)
        self._put(link, panel)
        return True

    def improve(self) -> None:
        """Exchange two panels along a chain or circle of their links wherever more links stay, until none gains."""
        pairs = list(itertools.combinations(self._panels, 2))
        gained = True
        while gained:
            gained = False
            for one, other in pairs:
                for chain in self._chains_of(one, other):
                    now = sum(self._panel[link] == self._wish[link] for link in chain)
                    then = sum(one + other - self._panel[link] == self._wish[link] for link in chain)
                    if then > now and not self._meets_dead(chain, one, other):
                        gained = True
                        moves = [(link, one + other - self._panel[link]) for link in chain]
                        for link, _ in moves:
                            self._take(link)
                        for link, panel in moves:
                            self._put(link, panel)

    def kept(self) -> int:
        return sum(panel == wish for panel, wish in zip(self._panel, self._wish, strict=True))

    def panels(self) -> Panels:
        counted: Panels = {}
        for pair, panel in zip(self._ends, self._panel, strict=True):
            counted.setdefault(pair, [0] * len(self._panels))[panel] += 1
        return counted

    def _insert(self, link: int) -> bool:
        """Assign the link to a panel by the chain that moves the fewest links."""
        a, b = self._ends[link]
        here, there = self._free(a), self._free(b)
        both = sorted(set(here) & set(there))
        if both:
            self._put(link, both[0])
            return True
        chains = [self._chain(link, panel, other) for panel in here for other in there]
        cheapest = min((chain for chain in chains if chain), key=self._cost, default=None)
        if cheapest is None:
            return False
        for moved, panel in cheapest:
            self._take(moved)
            self._put(moved, panel)
        return True

    def _chain(self, link: int, panel: int, other: int) -> list[tuple[int, int]] | None:
        """Return the new panels of links such that ``link`` may take ``panel``, which is full at its far end."""
        moves = [(link, panel)]
        moved = {link}
        vertex, full, free = self._ends[link][1], panel, other
        while True:
            options = [one for one in self._at.get((vertex, full), ()) if one not in moved]
            if not options:
                return None
            step = min(options, key=lambda one: (self._panel[one] == self._wish[one], one))
            moves.append((step, free))
            moved.add(step)
            a, b = self._ends[step]
            vertex = b if vertex == a else a
            load = len(self._at.get((vertex, free), ())) + self._shift(moves, vertex, free)
            if load <= self._problem.room_at(vertex, free):
                return moves
            full, free = free, full

    def _chains_of(self, one: int, other: int) -> list[list[int]]:
        """Return the connected parts of the links of two panels that have one interface of every server each."""
        left = {link for link, panel in enumerate(self._panel) if panel in (one, other)}
        parts = []
        while left:
            chain, pending = [], [min(left)]
            while pending:
                link = pending.pop()
                if link in left:
                    left.remove(link)
                    chain.append(link)
                    for vertex in self._ends[link]:
                        for panel in (one, other):
                            pending += self._at.get((vertex, panel), ())
            parts.append(chain)
        return parts

    def _meets_dead(self, chain: list[int], one: int, other: int) -> bool:
        """Return whether a chain touches a server that has a dead interface on one of the two panels."""
        vertices = {vertex for link in chain for vertex in self._ends[link]}
        return any((vertex, panel) in self._problem.dead for vertex in vertices for panel in (one, other))

    def _shift(self, moves: list[tuple[int, int]], vertex: int, panel: int) -> int:
        change = 0
        for link, to in moves:
            if vertex in self._ends[link]:
                change += (to == panel) - (self._panel[link] == panel)
        return change

    def _cost(self, moves: list[tuple[int, int]]) -> tuple[int, int]:
        return sum(self._panel[link] == self._wish[link] >= 0 for link, _ in moves), len(moves)

    def _free(self, vertex: int) -> list[int]:
        return [
            panel
            for panel in self._panels
            if len(self._at.get((vertex, panel), ())) < self._problem.room_at(vertex, panel)
        ]

    def _put(self, link: int, panel: int) -> None:
        self._panel[link] = panel
        for vertex in self._ends[link]:
            self._at.setdefault((vertex, panel), []).append(link)

    def _take(self, link: int) -> None:
        if self._panel[link] >= 0:
            for vertex in self._ends[link]:
                self._at[vertex, self._panel[link]].remove(link)
            self._panel[link] = -1


def _integer_program(problem: DivisionProblem) -> tuple[Panels, bool] | None:
    """Solve it exactly: x[pair, panel] links, of which y <= x are kept, at most as many as before."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - slow to import
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import

    links, pairs, width = problem.links, list(problem.links), len(problem.room)
    size = len(pairs) * width
    if not size:
        return {}, True
    old = np.array([problem.before.get(pair) or [0] * width for pair in pairs], float).ravel()
    vertices = {vertex: row for row, vertex in enumerate(sorted({v for pair in pairs for v in pair}))}
    x = np.arange(size)
    pair_row, panel = np.divmod(x, width)
    ends = np.array([[vertices[v] for v in pair] for pair in pairs])
    all_placed = coo_array((np.ones(size), (pair_row, x)), shape=(len(pairs), 2 * size))
    rows = np.concatenate([ends[pair_row, side] * width + panel for side in (0, 1)])
    within = coo_array((np.ones(2 * size), (rows, np.tile(x, 2))), shape=(len(vertices) * width, 2 * size))
    kept = coo_array(
        (np.repeat([1.0, -1.0], size), (np.tile(x, 2), np.concatenate([x + size, x]))), shape=(size, 2 * size)
    )
    count = np.array([links[pair] for pair in pairs], float)
    most = np.array([problem.room_at(vertex, p) for vertex in vertices for p in range(width)], float)
    answer = milp(
        np.concatenate([np.zeros(size), -np.ones(size)]),
        integrality=np.concatenate([np.ones(size), np.zeros(size)]),
        bounds=Bounds(0, np.concatenate([np.repeat(count, width), old])),
        constraints=[
            LinearConstraint(all_placed.tocsr(), count, count),
            LinearConstraint(within.tocsr(), 0, most),
            LinearConstraint(kept.tocsr(), -np.inf, 0),
        ],
        options={"node_limit": _MOST_NODES},
    )
    if answer.x is None:
        return None
    placed = np.rint(answer.x[:size]).astype(int).reshape(len(pairs), width)
    return {pair: row.tolist() for pair, row in zip(pairs, placed, strict=True)}, answer.status == 0
