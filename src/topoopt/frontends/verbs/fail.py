"""``topoopt.fail``: cost of a failure, its repair, and availability over a month of failures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known, hint, shown
from topoopt.base.limits import MOST
from topoopt.base.units import parse_time
from topoopt.catalog import find_optical_switch
from topoopt.finder.rewiring import Wiring
from topoopt.frontends.verbs.input_sources import PlanSource, inventory_of, plan_and_name
from topoopt.plans import Plan
from topoopt.plans.inventory import GivenInventory, Inventory, circuits, completed
from topoopt.schema.words import (
    AvailabilityWords,
    FailureWords,
    FailWords,
    checked_arguments,
    checked_words,
    defaults,
    pick,
)
from topoopt.simulation import SIMULATORS
from topoopt.studies.failure import (
    DEFAULT_RATES,
    USUAL_REPAIRER,
    WAYS,
    AvailabilityAnswer,
    FailedInterface,
    FailedLink,
    FailedPanel,
    FailedServer,
    Failure,
    FailureAnswer,
    FailureRates,
    Prediction,
    available_fabrics,
    counts_look_ahead,
    phases,
    plan_wiring,
    predict,
    read_rates,
    repaired_by,
)

PARTS = ("link", "cable", "server", "panel")
MOST_DAYS, MOST_RUNS = 36500, 1_000_000


@checked_arguments
def fail(
    plan: PlanSource, *, on_progress: Progress = silent, **words: Unpack[FailWords]
) -> FailureAnswer | AvailabilityAnswer:
    """Fail a link, a server or a panel of a plan: iteration time before, during and after repair, and the fiber moves.

    With ``availability`` parts fail at random; the answer gives the shares of a month at full speed, degraded and
    down, for the plan's fabric and its baselines.

    Parameters
    ----------
    plan
        A plan or its file.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        One of ``link`` (``(3, 4)`` or ``"3-4"``), ``cable`` (its label), ``server``, ``panel`` (number or name), or
        ``availability=True``. ``at``: time of the failure (``"3h"`` or seconds) within the job; ``inventory``:
        the inventory file of servers, interfaces, panels, ports and cables; ``without``: names of repairs to
        leave out; ``rates``: a file of failure rates; ``repaired_by`` and ``spares`` without one; ``days``, ``runs``
        and ``seed`` of drawn failures; ``optics``: kind of panels; ``simulator``.

    Returns
    -------
    FailureAnswer or AvailabilityAnswer

    Raises
    ------
    InvalidInput
        For options that exclude each other, unknown names, or a part that the plan does not have.
    Infeasible
        If no repair is possible.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=50)
    >>> topoopt.fail(plan, link=(0, 1)).prediction.chosen.repair.moved_fibers
    0
    """
    settings = checked_words(words, FailWords)
    simulator = settings["simulator"]
    check_known("simulator", simulator, SIMULATORS)
    check_one_part(settings)
    if settings["availability"]:
        _refuse_one_failure(settings)
        return _month(plan, settings, on_progress)
    for word in pick(settings, ("repaired_by", "spares")):
        raise InvalidInput(
            f"{word}: is for availability; one failure is simulated with every repair there is"
        )
    for word, usual in defaults(AvailabilityWords).items():
        if settings.get(word, usual) != usual:
            raise InvalidInput(f"{word}: is for availability; one failure needs no draws")
    if not pick(settings, PARTS):
        raise InvalidInput("fail: give what fails: one of link, cable, server, panel, or availability")
    if "rates" in settings and "at" not in settings:
        raise InvalidInput("rates: is for availability, or with at for its restart and checkpoint times")
    return _one(plan, settings, on_progress)


def _one(source: PlanSource, words: Mapping[str, Any], on_progress: Progress) -> FailureAnswer:
    rules, left_out, simulator = _rates(words), _left_out(words.get("without", ())), words["simulator"]
    at = words.get("at")
    at_s = parse_time(at, "at") if isinstance(at, str) else at
    given = inventory_of(words.get("inventory"))
    plan, name = plan_and_name(source)
    failure = failed_part(words, plan, given)
    prediction = predict(
        plan,
        failure,
        simulator=simulator,
        without_ways=left_out,
        look_ahead=rules.look_ahead,
        on_progress=on_progress,
    )
    course = None
    if at_s is not None:
        course = phases(prediction, at_s, rules.optics, rules.restart_s, rules.checkpoint_s)
    return FailureAnswer(name, prediction, simulator, rules.optics, _names(given, prediction), course)


def _names(given: GivenInventory, prediction: Prediction) -> Inventory:
    """Return the names of all equipment, with an additional server if the repair takes a spare one."""
    state, repair = prediction.situation, prediction.chosen.repair
    assert repair is not None, "a chosen repair is possible"
    servers = state.plan.job.cluster.servers
    given = given.named(state.plan.server_names)
    spare = bool(repair.wiring.touching([servers]))
    if spare and len(given.content.servers) == servers:
        given = given.with_spare()
    inventory = completed(state.wiring, servers + spare, given)
    with given.placed():
        circuits(inventory, state.wiring, (*state.wiring.patches, *repair.made))
    return inventory


def _month(source: PlanSource, words: Mapping[str, Any], on_progress: Progress) -> AvailabilityAnswer:
    seed, days, runs, simulator = words["seed"], words["days"], words["runs"], words["simulator"]
    if seed < 0:
        raise InvalidInput(f"seed: must be >= 0, got {seed}")
    if not 0 < days <= MOST_DAYS:
        raise InvalidInput(f"days: must be in 0 < days <= {MOST_DAYS}, got {days:g}")
    if not 2 <= runs <= MOST_RUNS:
        raise InvalidInput(f"runs: must be in 2..{MOST_RUNS}, got {runs}")
    plan, name = plan_and_name(source)
    who, rates = words.get("repaired_by"), _rates(words)
    if "rates" in words and who is not None:
        raise InvalidInput(f"repaired_by: {words['rates']} says how long repairs take; give one of the two")
    if "rates" not in words:
        rates = repaired_by(USUAL_REPAIRER if who is None else who, rates, plan.job.cluster.servers)
    spares = words.get("spares", rates.spare_servers)
    if spares < 0:
        raise InvalidInput(f"spares: expected an integer >= 0, got {spares}")
    rules = replace(rates, spare_servers=spares, look_ahead=rates.look_ahead or counts_look_ahead(plan))
    fabrics, skipped = available_fabrics(
        plan, rules, days=days, runs=runs, seed=seed, simulator=simulator, on_progress=on_progress
    )
    return AvailabilityAnswer(name, plan, fabrics, rules, simulator, skipped)


def _refuse_one_failure(words: Mapping[str, Any]) -> None:
    for word in pick(words, FailureWords):
        raise InvalidInput(f"{word}: applies to one failure; availability draws failures at random")


def _left_out(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        check_known("without: repair", name, WAYS)
    return tuple(names)


def _rates(words: Mapping[str, Any]) -> FailureRates:
    rates = read_rates(words["rates"]) if "rates" in words else DEFAULT_RATES
    optics = find_optical_switch(words["optics"]).name if "optics" in words else rates.optics
    return replace(rates, optics=optics, look_ahead=rates.look_ahead or words["look_ahead"])


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
    """Return the failure of a plan.

    Parameters
    ----------
    words : mapping
        Options with one of :data:`PARTS`; digits are a number, anything else is a name in the inventory.

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
    """Return the number in the text, if it is one; too long numbers match no part."""
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
