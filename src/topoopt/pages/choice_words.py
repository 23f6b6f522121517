"""What to buy, and why, in a sentence or two."""

from topoopt.base.units import format_time
from topoopt.pages.ownership_section import counted_years
from topoopt.pages.words import counted, usd
from topoopt.studies.choice import BUDGET, DEADLINE, DROPPED, PLANNED, Choice, Evaluated, work_usd

PARTS = {
    "transceiver": "optics",
    "linear_transceiver": "linear optics",
    "nic": "NICs",
    "electrical_port": "switch ports",
    "patch_panel_port": "panel ports",
    "optical_switch_1x2": "1×2 switches",
    "ocs_port": "circuit-switch ports",
    "fiber_m": "fiber",
}
"""What parts are called in a sentence; all others by their names."""


def headline(choice: Choice) -> str:
    """Return what to buy, what that costs and takes, and what the next ones of the front would change."""
    return " ".join([_taken(choice), _because(choice), *_neighbors(choice)])


def price_words(part: str) -> str:
    """Return what is paid for, in words.

    Examples
    --------
    >>> price_words("transceiver"), price_words("passive_copper")
    ('optics', 'passive copper')
    """
    return PARTS.get(part, part.replace("_", " "))


def of_time(relative_time: float | None) -> str:
    """Return a relative time, to a thousandth.

    Examples
    --------
    >>> of_time(1.0), of_time(1.0534)
    ('1.000', '1.053')
    """
    return "–" if relative_time is None else f"{relative_time:.3f}"


def _taken(choice: Choice) -> str:
    point, years = choice.decision.point, choice.owner.terms.running.years
    price = usd(None if point.money is None else point.money.price_usd)
    whole = ""
    if choice.with_servers:
        whole = f", {usd(point.usd())} with servers and what running them takes over {counted_years(years)}"
    return f"Buy {point.network.name}: the network costs {price}{whole}; {_time(choice, point)}."


def _time(choice: Choice, point: Evaluated) -> str:
    if len(choice.mix) == 1:
        return f"an iteration of {choice.mix[0].name} takes {format_time(point.times_s[0])}"
    relative = of_time(point.relative_time(choice.mix))
    return f"the work takes {relative} times what it takes on {choice.reference.name}"


def _because(choice: Choice) -> str:
    looked = counted(choice.count(PLANNED) + choice.count(DROPPED), "network")
    point = choice.decision.point
    if choice.limits.rule == BUDGET:
        return f"It is the fastest of {looked} that {usd(choice.limits.budget_usd)} pay."
    if choice.limits.rule == DEADLINE:
        limit = of_time(choice.limits.deadline_years)
        return f"It is the cheapest of {looked} on which the work takes at most {limit} times that."
    return (
        f"A year of work then costs {usd(work_usd(point, choice.mix))}, the least of {looked}: up to here a percent "
        "more money buys more than a percent of time, beyond it less."
    )


def _neighbors(choice: Choice) -> list[str]:
    decision, mix = choice.decision, choice.mix
    lines = []
    if decision.dearer is not None:
        more, less = decision.shares(decision.dearer, mix)
        lines.append(
            f"The next dearer of the front, {decision.dearer.network.name}, costs {more:.2%} more and saves "
            f"{-less:.2%} of the time{_saved(choice, decision.dearer)}."
        )
    if decision.cheaper is not None:
        less, more = decision.shares(decision.cheaper, mix)
        lines.append(
            f"The next cheaper, {decision.cheaper.network.name}, saves {-less:.2%} of the money and takes {more:.2%} "
            f"longer{_saved(choice, decision.cheaper)}."
        )
    return lines or ["Nothing else is on the front."]


def _saved(choice: Choice, other: Evaluated) -> str:
    """Return what another network saves and loses for the same work, in dollars."""
    found = choice.against(other)
    if found is None or found.network_saved_usd is None or found.servers_lost_usd is None:
        return ""
    saved, lost = found.network_saved_usd, found.servers_lost_usd
    network = f"the network {'saves' if saved >= 0 else 'costs'} {usd(abs(saved))}"
    servers = f"the servers {'lose' if lost >= 0 else 'gain'} {usd(abs(lost))}"
    return f": {network}, {servers}"
