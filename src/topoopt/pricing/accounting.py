"""What is counted in a bill: the choices that a published cost ratio leaves open, each by name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from topoopt.base.errors import InvalidInput, check_known

FIBER_ON = ("every-fabric", "fat-trees", "none")
SWITCH_COUNTS = ("whole", "ports")
CUSTOM = "custom"
"""Name of an accounting that is none of the named ones."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """Which parts are counted. The default counts everything that has to be bought, in pieces that are sold.

    Attributes
    ----------
    name : str
        Written into the bill, so that no figure stands without its accounting.
    switches : str
        ``whole``: switches of the catalogue, in the fewest tiers that reach, spare ports paid for. ``ports``: the
        ports in use of a k-ary fat-tree, whose switches have whatever radix is needed: what the paper counts.
    nics : bool
        Whether network cards are counted, one for every interface of a server.
    look_ahead : bool
        Whether a patch-panel fabric has a second panel, on which the next job is wired while this one runs:
        two panel ports and a 1×2 optical switch for every interface.
    fiber_on : str
        ``every-fabric``, ``fat-trees`` (only the packet-switched ones pay for fiber) or ``none``.
    look_ahead_fiber : bool
        Whether the second panel has fibers of its own.
    fiber_length_m : float or None
        Mean length of a link; None takes it from where servers stand (:class:`topoopt.pricing.RoomLayout`). The paper's
        0 to 1000 m uniformly has a mean of 500 m.
    tiers : int or None
        Layers of switches of a fat-tree; None for the fewest that reach, of whole switches alone.
    """

    name: str = "complete"
    switches: str = "whole"
    nics: bool = True
    look_ahead: bool = True
    fiber_on: str = "every-fabric"
    look_ahead_fiber: bool = True
    fiber_length_m: float | None = None
    tiers: int | None = None

    def __post_init__(self) -> None:
        check_known("fiber_on", self.fiber_on, FIBER_ON)
        check_known("switches", self.switches, SWITCH_COUNTS)
        if self.fiber_length_m is not None and not 0 <= self.fiber_length_m < float("inf"):
            raise InvalidInput(f"fiber_length_m: expected meters >= 0, got {self.fiber_length_m}")
        if self.tiers not in (None, 1, 2, 3):
            raise InvalidInput(f"tiers: expected 1, 2 or 3, got {self.tiers}")
        if self.switches == "ports" and self.tiers is None:
            raise InvalidInput("tiers: ports are counted of 1, 2 or 3 tiers; give one")

    @property
    def words(self) -> str:
        """Every choice in words, to stand beside a price."""
        panels = "two panels and 1×2 switches" if self.look_ahead else "one panel"
        where = {"every-fabric": "on every fabric", "fat-trees": "on fat-trees only"}.get(self.fiber_on)
        second = ", those of the second panel too" if self.look_ahead and self.look_ahead_fiber else ""
        second = second if self.fiber_on == "every-fabric" else ""
        long = "fiber by the layout of the room"
        if self.fiber_length_m is not None:
            long = f"{self.fiber_length_m:g} m of fiber a link"
        fiber = f"{long} {where}{second}" if where else "no fiber"
        return f"{'NICs' if self.nics else 'no NICs'}; {panels}; {fiber}; {self._trees}"

    @property
    def _trees(self) -> str:
        if self.switches == "ports":
            return f"fat-trees of {counted_tiers(self.tiers or 3)}"
        tiers = "the fewest tiers that reach" if self.tiers is None else counted_tiers(self.tiers)
        return f"whole switches in {tiers}"


def counted_tiers(tiers: int) -> str:
    """Return ``3 tiers`` or ``1 tier``."""
    return f"{tiers} tier" if tiers == 1 else f"{tiers} tiers"


PAPER = Accounting(name="paper", switches="ports", fiber_length_m=500.0, tiers=3)
"""What the paper counts: the ports of a k-ary fat-tree of three tiers, 500 m of fiber a link."""

ACCOUNTINGS: Mapping[str, Accounting] = {
    accounting.name: accounting
    for accounting in (
        Accounting(),
        PAPER,
        replace(PAPER, name="no-look-ahead", look_ahead=False, look_ahead_fiber=False),
        replace(PAPER, name="fat-tree-fiber", fiber_on="fat-trees"),
    )
}
"""Named accountings. None of them gives both of the published ratios: see :func:`topoopt.pricing.cost_ratios`."""


def changed_accounting(name: str, **choices: Any) -> Accounting:
    """Return a named accounting with other choices; what is then none of the named ones is called ``custom``.

    Examples
    --------
    >>> changed_accounting("complete", nics=False).name
    'custom'
    >>> changed_accounting("paper", look_ahead=False, look_ahead_fiber=False).name
    'no-look-ahead'
    """
    changed = replace(find_accounting(name), **choices)
    alike = [other for other in ACCOUNTINGS.values() if replace(changed, name=other.name) == other]
    return alike[0] if alike else replace(changed, name=CUSTOM)


def find_accounting(name: str) -> Accounting:
    """Return a named accounting; an unknown name is an :class:`InvalidInput` with the nearest ones."""
    check_known("accounting", name, ACCOUNTINGS)
    return ACCOUNTINGS[name]
