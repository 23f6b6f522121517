"""Moves from one set of circuits to another: one end of a connection is moved where possible.

A cable from a server to a panel stays in place. On a manual panel, the patch cord between two ports moves: one end
of it is unplugged and plugged in elsewhere. An optical switch joins a port to another one instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.finder.rewiring import (
    MOVE_COLUMNS,
    MoveOrder,
    Patch,
    Rewiring,
    RewiringTime,
    Wiring,
    move_rows,
    patch_rows,
)
from topoopt.plans.inventory.inventory import Cable, Circuit, Inventory, circuits
from topoopt.topologies.wirings import DIRECTED_WARNING

_Port = tuple[str, str, int]
"""Panel, the half of the port (nothing of a duplex one), port."""


@dataclass(frozen=True, slots=True)
class Move:
    """One action at a panel.

    Attributes
    ----------
    step : int
        Step, from 1; in each step everything is unplugged first, then plugged in.
    action : str
        ``move``: the connection of ``cable`` goes from port ``old`` to port ``new``. ``unplug``: the one between
        ``cable`` and ``old`` goes. ``plug``: one between ``cable`` and ``new`` comes.
    cable : Cable
        The one whose port stays in use, or is the first of the two.
    old, new : Cable, optional
        Cables in the ports that it was joined to, and will be joined to.
    """

    step: int
    action: str
    kind: str
    cable: Cable
    old: Cable | None
    new: Cable | None

    def __str__(self) -> str:
        """Return the move as a sentence."""
        cable, panel = _named(self.cable), self.cable.panel
        manual = self.kind == "manual"
        if self.action == "move":
            assert self.old is not None
            assert self.new is not None
            verb = "move the cord of" if manual else "switch"
            return f"{panel}: {verb} {cable} from port {self.old.port} to {_named(self.new)}"
        other = self.old if self.action == "unplug" else self.new
        assert other is not None
        verbs = {"unplug": ("unplug the cord", "disconnect"), "plug": ("plug a cord", "connect")}[self.action]
        return f"{panel}: {verbs[0] if manual else verbs[1]} from {cable} to {_named(other)}"

    def to_json(self) -> dict[str, Any]:
        """Return the move by its names; ports that it does not have are None."""
        return {
            **fields_of(self, "step", "action"),
            "panel": self.cable.panel,
            "panel_kind": self.kind,
            "cable": self.cable.id,
            **fields_of(self.cable, "server", "interface", "port"),
            "from_port": self.old.port if self.old else None,
            "from_cable": self.old.id if self.old else None,
            "to_port": self.new.port if self.new else None,
            "to_cable": self.new.id if self.new else None,
            "text": str(self),
        }


def moves(
    inventory: Inventory, gone: Sequence[Circuit], come: Sequence[Circuit], step: int = 1
) -> tuple[Move, ...]:
    """Return the moves from some circuits to others, panel by panel in the order of their ports.

    A circuit that goes and one that comes in one of its ports are one move. As many as possible are.
    """
    pairs = dict(_pairs(gone, come))
    kinds = {panel.name: panel.kind for panel in inventory.panels}
    taken, found = set(pairs.values()), []
    for index, circuit in enumerate(come):
        kind = kinds[circuit.panel]
        if index not in pairs:
            found.append(Move(step, "plug", kind, circuit.cable_a, None, circuit.cable_b))
            continue
        before = gone[pairs[index]]
        a_stays = circuit.cable_a in (before.cable_a, before.cable_b)
        stays, new = (circuit.cable_a, circuit.cable_b) if a_stays else (circuit.cable_b, circuit.cable_a)
        old = before.cable_b if before.cable_a == stays else before.cable_a
        found.append(Move(step, "move", kind, stays, old, new))
    found += [
        Move(step, "unplug", kinds[one.panel], one.cable_a, one.cable_b, None)
        for index, one in enumerate(gone)
        if index not in taken
    ]
    rank = {panel.name: place for place, panel in enumerate(inventory.panels)}
    order = {"unplug": 0, "move": 1, "plug": 2}
    return tuple(sorted(found, key=lambda m: (rank[m.cable.panel], order[m.action], m.cable.port)))


def circuit_names(circuit: Circuit) -> dict[str, Any]:
    """Return a circuit by its names, to accompany the numbers of its patch."""
    return {
        "panel_name": circuit.panel,
        **{f"from_{key}": value for key, value in _end(circuit.cable_a).items()},
        **{f"to_{key}": value for key, value in _end(circuit.cable_b).items()},
    }


def _end(cable: Cable) -> dict[str, Any]:
    return {
        "server_name": cable.server,
        "interface_name": cable.interface,
        "cable": cable.id,
        "panel_port": cable.port,
    }


def _named(cable: Cable) -> str:
    return f"port {cable.port} ({cable.id}, {cable.server} {cable.interface})"


def _pairs(gone: Sequence[Circuit], come: Sequence[Circuit]) -> Iterator[tuple[int, int]]:
    """Yield pairs of new and removed circuits that share a port, as many as possible.

    Sharing a port makes chains and rings of circuits that go and come by turns; a chain is paired from its ends on.
    """
    holder = {port: index for index, circuit in enumerate(gone) for port in _ports(circuit)}
    wanted: dict[int, list[int]] = {}
    for index, circuit in enumerate(come):
        for port in _ports(circuit):
            if port in holder and index not in wanted.setdefault(holder[port], []):
                wanted[holder[port]].append(index)
    choices: list[set[int]] = [
        {holder[port] for port in _ports(circuit) if port in holder} for circuit in come
    ]
    ends = [index for index, some in enumerate(choices) if len(some) == 1]
    for start in range(len(come)):
        pending = [*ends, start]
        ends = []
        while pending:
            index = pending.pop(0)
            if not choices[index]:
                continue
            chosen = min(choices[index])
            yield index, chosen
            choices[index] = set()
            for other in wanted[chosen]:
                choices[other].discard(chosen)
                if len(choices[other]) == 1:
                    pending.insert(0, other)


def _ports(circuit: Circuit) -> Iterable[_Port]:
    halves = ("", "") if circuit.duplex else ("in", "out")
    return (circuit.panel, halves[0], circuit.port_a), (circuit.panel, halves[1], circuit.port_b)


NAME_COLUMNS = (
    "panel_name",
    *(
        f"{end}_{key}"
        for end in ("from", "to")
        for key in ("server_name", "interface_name", "cable", "panel_port")
    ),
)
"""Columns of names behind those of numbers, of a table of moves."""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class RewiringAnswer:
    """Rewiring from one plan to the next with the fewest moved fibers; ``old`` and ``new`` are the plans' names.

    Attributes
    ----------
    relabeling : bool
        Whether the servers were free to take other ranks.
    inventory : Inventory
        Names of the servers, panels and cables of the room.
    """

    old: str
    new: str
    rewiring: Rewiring
    order: MoveOrder
    times: tuple[RewiringTime, ...]
    relabeling: bool
    inventory: Inventory

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats before moving anything."""
        before, after = (
            {end[0] for patch in wiring.patches for end in patch.ends}
            for wiring in (self.rewiring.old, self.rewiring.new)
        )
        idle = [self.inventory.servers[server].name for server in sorted(before - after)]
        names = ", ".join(idle)
        left = f"{self.new} leaves {len(idle)} of {len(before)} servers of {self.old} without a cable: {names:.80}"
        directed = self.rewiring.old.links == "directed"
        return (*(DIRECTED_WARNING,) * directed, *(left,) * bool(idle))

    def moves(self) -> list[tuple[Any, ...]]:
        """Return the moves in order: :data:`~topoopt.finder.rewiring.MOVE_COLUMNS`, then the names."""
        named = (self._circuits(some) for step in self.order.steps for some in (step.unplug, step.plug))
        names = [tuple(circuit_names(one).values()) for some in named for one in some]
        return [
            (*row, *more) for row, more in zip(move_rows(self.rewiring.old, self.order), names, strict=True)
        ]

    def named_moves(self) -> list[Move]:
        """Return the moves at the panels, step by step."""
        return [
            move
            for number, step in enumerate(self.order.steps, 1)
            for move in moves(self.inventory, self._circuits(step.unplug), self._circuits(step.plug), number)
        ]

    def to_frame(self) -> Frame:
        """Return a row for each move; needs pandas."""
        columns = (*MOVE_COLUMNS, *NAME_COLUMNS)
        return frame(dict(zip(columns, row, strict=True)) for row in self.moves())

    def _circuits(self, patches: Iterable[Patch]) -> tuple[Circuit, ...]:
        return circuits(self.inventory, self.rewiring.old, patches)

    def _rows(self, patches: tuple[Patch, ...]) -> list[dict[str, Any]]:
        return named_patch_rows(self.inventory, self.rewiring.old, patches)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt rewire --json``."""
        moves, order, wiring = self.rewiring, self.order, self.rewiring.old
        return {
            **fields_of(self, "old", "new"),
            "servers": len(moves.servers),
            **fields_of(wiring, "degree", "links", "panels", "interfaces_per_panel"),
            "fibers_before": len(wiring.patches),
            "fibers_after": len(moves.new.patches),
            "kept_fibers": len(wiring.patches) - len(moves.removed),
            **fields_of(moves, "moved_fibers", "lower_bound", "gap", "relabeled"),
            "server_of_rank": list(moves.servers),
            "server_name_of_rank": [self.inventory.servers[server].name for server in moves.servers],
            "keep_running": order.keep_running,
            "steps_that_cut": order.cuts,
            "steps": [
                {
                    "unplug": self._rows(step.unplug),
                    "plug": self._rows(step.plug),
                    "reached_share": step.reached,
                }
                for step in order.steps
            ],
            "moves_at_panels": [move.to_json() for move in self.named_moves()],
            "time": [
                {
                    "technology": row.technology.name,
                    **fields_of(row, "ports", "fits", "time_s"),
                }
                for row in self.times
            ],
            "warnings": list(self.warnings),
        }


def named_patch_rows(
    inventory: Inventory, wiring: Wiring, patches: tuple[Patch, ...]
) -> list[dict[str, Any]]:
    """Return the panel and the ends of each patch, by number and by name."""
    named = circuits(inventory, wiring, patches)
    numbers = patch_rows(wiring, patches)
    return [{**row, **circuit_names(one)} for row, one in zip(numbers, named, strict=True)]
