"""Failure rates, and repair times of a robot at the panels, a person on site, or remote hands."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import Field, TypeAdapter

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_optical_switch
from topoopt.schema.files import Strict, TimeText, packaged_rows, read_yaml, validated

KINDS = ("nic", "fiber", "server", "panel", "switch")
MONTH_S = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class Rate:
    """Mean time between failures of one part, and mean time to repair it, both exponential.

    Attributes
    ----------
    origin : str
        Source of the figures.
    """

    mtbf_s: float
    repair_s: float
    origin: str

    @property
    def availability(self) -> float:
        """Share of time for which one part works, in the long run."""
        return self.mtbf_s / (self.mtbf_s + self.repair_s)


@dataclass(frozen=True, slots=True)
class FailureRates:
    """Failure and repair rates of all parts, and means of recovery.

    Attributes
    ----------
    parts : mapping from a kind of part to its rate
        A kind that is not there never fails.
    restart_s, checkpoint_s : float
        Time from the last checkpoint to the first iteration; time between checkpoints.
    spare_servers : int
        Servers that stand by.
    move_fibers : bool
        Whether anybody moves fibers before the part is repaired.
    look_ahead : bool
        Whether there is a second panel behind every panel.
    optics : str
        Technology of the panels, which determines the duration of moves.
    moves_begin_s : float
        Time from a failure to the first moved fiber.
    repaired_by : str
        Repairer whose times these are, if any.
    """

    parts: Mapping[str, Rate]
    restart_s: float
    checkpoint_s: float
    spare_servers: int = 0
    move_fibers: bool = True
    look_ahead: bool = False
    optics: str = "patch-panel"
    moves_begin_s: float = 0.0
    repaired_by: str = ""


def mtbf_of_share(failed_share: float, period_s: float) -> float:
    """Return the mean time between failures, given the share of parts that fail within a period.

    Examples
    --------
    >>> round(mtbf_of_share(0.00057, 30 * 86400.0) / (365.25 * 86400.0))
    144
    """
    return -period_s / math.log1p(-failed_share)


DEFAULT_RATES = FailureRates(
    {
        "nic": Rate(
            mtbf_of_share(0.00057, MONTH_S),
            4 * 3600.0,
            "0.057% of NICs and links fail during a job (MixNet, published); that a job is a month, and 4 h to "
            "repair, is assumed",
        ),
        "server": Rate(
            54 * 86400.0 * 2048 / 419,
            24 * 3600.0,
            "419 unexpected interruptions in 54 days on 2,048 servers (Llama 3 report, from memory, unconfirmed), "
            "all counted as servers; 24 h to repair is assumed",
        ),
        "panel": Rate(
            mtbf_of_share(0.00051, MONTH_S),
            4 * 3600.0,
            "assumed to fail like a first switch, 0.051% of which do in a month (Alibaba HPN, from memory, "
            "unconfirmed); 4 h to repair is assumed",
        ),
        "switch": Rate(
            mtbf_of_share(0.00051, MONTH_S),
            4 * 3600.0,
            "0.051% of first switches fail in a month (Alibaba HPN, from memory, unconfirmed), and others are taken "
            "to be like these; 4 h to repair is assumed",
        ),
    },
    restart_s=600.0,
    checkpoint_s=1800.0,
)
"""Default rates. Fibers are counted with the NICs; 10 min to restart and 30 min between checkpoints are assumed."""


class RatePart(Strict):
    """One kind of part."""

    mtbf: TimeText = Field(description="mean time between failures of one part, such as 50000 h")
    repair: TimeText = Field(description="mean time to repair, such as 4 h")
    origin: str = Field(default="given", description="where the numbers come from")


class RatesFile(Strict):
    """A file of failure rates. A kind of part that is left out never fails."""

    nic: RatePart | None = Field(default=None, description="a network interface with its cable")
    fiber: RatePart | None = Field(default=None, description="a cable (duplex) or a fiber (directed)")
    server: RatePart | None = None
    panel: RatePart | None = Field(default=None, description="a patch panel or optical switch")
    switch: RatePart | None = Field(default=None, description="a packet switch")
    restart: TimeText = Field(default=600.0, description="from the last checkpoint to the first iteration")
    checkpoint: TimeText = Field(default=1800.0, description="from one checkpoint to the next")
    spare_servers: int = Field(default=0, ge=0)
    move_fibers: bool = Field(default=True, description="whether fibers are moved before a part is repaired")
    look_ahead: bool = Field(default=False, description="whether there is a second panel behind every panel")
    optics: str = Field(default="patch-panel", description="technology of the panels")
    moves_begin: TimeText = Field(default=0.0, description="from a failure to the first fiber that is moved")


USUAL_REPAIRER = "on-site"
SERVERS_FOR_A_SPARE = 64
"""Servers per spare, by default; assumed."""


@dataclass(frozen=True, slots=True)
class Repairer:
    """Response and repair times of one kind of repairer.

    Attributes
    ----------
    moves_begin_s : float
        Time from a failure to the first moved fiber.
    response_s : float
        Time from a failure until the repairer is on site.
    link_s, server_s, switch_s : float
        Time from then until a NIC or cable, a server, a switch or panel works again.
    """

    name: str
    moves_begin_s: float
    response_s: float
    link_s: float
    server_s: float
    switch_s: float
    confidence: str
    source: str

    def repair_s(self, kind: str) -> float:
        """Return seconds from the failure of a part of a kind until it works again."""
        work = {"nic": self.link_s, "fiber": self.link_s, "server": self.server_s}
        return self.response_s + work.get(kind, self.switch_s)


@cache
def repairers() -> Mapping[str, Repairer]:
    """Return the repairers by name.

    Examples
    --------
    >>> repairers()["remote-hands"].repair_s("nic") / 3600
    9.5
    """
    rows = packaged_rows("studies.failure", "repairers")
    return {one.name: one for one in TypeAdapter(list[Repairer]).validate_python(rows)}


def repaired_by(name: str, rates: FailureRates, servers: int) -> FailureRates:
    """Return rates with the repair times of a repairer, and a spare for every :data:`SERVERS_FOR_A_SPARE` servers.

    Raises
    ------
    InvalidInput
        For an unknown name.
    """
    check_known("repaired_by", name, repairers())
    who = repairers()[name]
    parts = {kind: replace(rate, repair_s=who.repair_s(kind)) for kind, rate in rates.parts.items()}
    spares = -(-servers // SERVERS_FOR_A_SPARE)
    return replace(
        rates, parts=parts, moves_begin_s=who.moves_begin_s, spare_servers=spares, repaired_by=name
    )


def read_rates(path: str | Path) -> FailureRates:
    """Return the rates of a YAML file.

    Raises
    ------
    InvalidInput
        In one line: place, key, allowed values, given value.
    """
    file = validated(RatesFile, read_yaml(path), str(path))
    find_optical_switch(file.optics)
    parts: dict[str, RatePart | None] = {kind: getattr(file, kind) for kind in KINDS}
    for kind, part in parts.items():
        if part is not None and not part.mtbf > 0:
            raise InvalidInput(f"{path}: {kind}.mtbf: must be positive; leave {kind} out if it never fails")
    rates = {kind: Rate(part.mtbf, part.repair, part.origin) for kind, part in parts.items() if part}
    others = file.model_dump(include={"spare_servers", "move_fibers", "look_ahead", "optics"})
    return FailureRates(rates, file.restart, file.checkpoint, moves_begin_s=file.moves_begin, **others)
