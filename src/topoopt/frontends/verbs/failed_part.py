"""What fails, in the words of people: servers and panels by number or name, links by their ends, cables by label."""

import re
from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput, hint, shown
from topoopt.base.limits import MOST
from topoopt.finder.rewiring import Wiring
from topoopt.plans import Plan
from topoopt.plans.inventory import GivenInventory, Inventory, completed
from topoopt.schema.words import pick
from topoopt.studies.failure import (
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    plan_wiring,
)

PARTS = ("link", "cable", "server", "panel")


def check_one_part(words: Mapping[str, Any]) -> None:
    """Refuse two parts that fail, and a link that is none.

    Raises
    ------
    InvalidInput
        With the word.
    """
    parts = list(pick(words, PARTS))
    if len(parts) > 1:
        raise InvalidInput(f"{parts[1]}: one failure at a time; give it or {parts[0]}")
    if "link" in words:
        _ends(words["link"])


def failed_part(words: Mapping[str, Any], plan: Plan, given: GivenInventory) -> Failure:
    """Return what fails of a plan.

    Parameters
    ----------
    words : mapping
        With one of :data:`PARTS`; digits are a number, all else is a name of the inventory.

    Raises
    ------
    InvalidInput
        If there is nothing of that name, or a cable carries nothing.
    """
    ((part, value),) = pick(words, PARTS).items()
    if part == "link":
        return FailedLink(*_ends(value))
    number = None if part == "cable" else _number(part, value)
    if number is not None:
        return FailedServer(number) if part == "server" else FailedPanel(number)
    wiring = plan_wiring(plan)
    inventory = completed(wiring, plan.job.cluster.servers, given)
    find = {"cable": _of_cable, "server": _of_server, "panel": _of_panel}[part]
    return find(str(value), inventory, wiring)


def _number(word: str, value: int | str) -> int | None:
    """Return the number that is meant, if one is; longer ones than any are names of nothing."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"[+-]?[0-9]{1,15}", value) else None
    if abs(value) > MOST["servers"]:
        raise InvalidInput(f"{word}: expected a number <= {MOST['servers']}, got {shown(value)}")
    return value


def _of_server(name: str, inventory: Inventory, wiring: Wiring) -> Failure:
    return FailedServer(_place("server", name, [one.name for one in inventory.servers]))


def _of_panel(name: str, inventory: Inventory, wiring: Wiring) -> Failure:
    _place("panel", name, [one.name for one in inventory.panels])
    sides = ("both",) if wiring.links == "duplex" else ("out", "in")
    there = {
        interface // wiring.interfaces_per_panel
        for interface in range(wiring.degree)
        for side in sides
        if inventory.cable(0, interface, side).panel == name
    }
    if len(there) != 1:
        what = "no interface" if not there else "interfaces of " + " and ".join(map(str, sorted(there)))
        raise InvalidInput(f"panel: {name} has {what} of the plan's panels; give one of their numbers")
    return FailedPanel(there.pop())


def _of_cable(name: str, inventory: Inventory, wiring: Wiring) -> Failure:
    cable = inventory.cables[_place("cable", name, [one.id for one in inventory.cables])]
    server = _place("server", cable.server, [one.name for one in inventory.servers])
    names = [one.name for one in inventory.servers[server].interfaces]
    interface = names.index(cable.interface)
    sides = ("both", "out", "in") if cable.side == "both" else (cable.side,)
    carried = [
        wiring.taken[side, server, interface] for side in sides if (side, server, interface) in wiring.taken
    ]
    if not carried:
        raise InvalidInput(f"cable: {name} at {cable.server} {cable.interface} carries nothing of the plan")
    one = carried[0]
    parallel = [patch for patch in wiring.patches if (patch.src, patch.dst) == (one.src, one.dst)]
    if len(carried) == len(parallel) == 1:  # a link is known by its two servers
        return FailedLink(one.src, one.dst)
    return FailedInterface(server, interface)


def _place(word: str, name: str, known: list[str]) -> int:
    if name not in known:
        raise InvalidInput(f'{word}: there is no "{name}"; {hint(name, known)}')
    return known.index(name)


def _ends(link: str | tuple[int, int]) -> tuple[int, int]:
    if not isinstance(link, str):
        return link
    ends = link.split("-")
    if len(ends) != 2 or not all(end.strip().isdecimal() for end in ends):
        raise InvalidInput(f'link: expected two servers such as 3-4, got "{link}"')
    return int(ends[0]), int(ends[1])
