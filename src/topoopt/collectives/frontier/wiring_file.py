"""A wiring from a file, as a collective is scheduled on it."""

from pathlib import Path

from topoopt.collectives.frontier.wiring import Wiring, check_size, direct_wiring
from topoopt.topologies.wirings import read_wiring_file


def read_wiring(
    path: str | Path,
    bandwidth_bps: float | None = None,
    links: str | None = None,
    degree: int | None = None,
    usual_bps: float = 100e9,
) -> Wiring:
    """Return the wiring of a file; see :func:`topoopt.topologies.wirings.read_wiring_file`.

    Parameters
    ----------
    bandwidth_bps
        Of a port; where not given that of the links of the file, if they say one, else ``usual_bps``.

    Raises
    ------
    InvalidInput
        With the line or the place in JSON, as there; for more servers or links than are scheduled for.
    """
    made, _ = read_wiring_file(path, links, degree)
    check_size(made.servers, len(made.arcs[0]))
    said = made.recipe.get("bandwidth_bps")
    if bandwidth_bps is None:
        bandwidth_bps = said if isinstance(said, float) else usual_bps
    return direct_wiring(str(path), made, bandwidth_bps)
