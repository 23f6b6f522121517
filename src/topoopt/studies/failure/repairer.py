"""Who repairs: a robot at the panels, a person on site, or remote hands; and how long each takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from topoopt.base.errors import check_known
from topoopt.schema.files import packaged_rows
from topoopt.studies.failure.rates import FailureRates

USUAL_REPAIRER = "on-site"
SERVERS_FOR_A_SPARE = 64
"""So many servers have a spare one, as far as nobody says how many there are; assumed."""


@dataclass(frozen=True, slots=True)
class Repairer:
    """Who repairs.

    Attributes
    ----------
    moves_begin_s : float
        From a failure to the first fiber that is moved.
    response_s : float
        From a failure until somebody stands before it.
    link_s, server_s, switch_s : float
        From then on until a NIC or cable, a server, a switch or panel works again.
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
    """Return who can repair, by name.

    Examples
    --------
    >>> repairers()["remote-hands"].repair_s("nic") / 3600
    9.5
    """
    words = ("name", "confidence", "source")
    return {
        row["name"]: Repairer(**{key: text if key in words else float(text) for key, text in row.items()})  # type: ignore[arg-type]
        for row in packaged_rows("studies.failure", "repairers")
    }


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
