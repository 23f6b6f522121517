"""A wiring from a file, as a collective is scheduled on it."""

from pathlib import Path

from topoopt.frontier.wiring import Wiring, check_size, direct_wiring
from topoopt.wirings import read_wiring_file


def read_wiring(
    path: str | Path, bandwidth_bps: float, links: str | None = None, degree: int | None = None
) -> Wiring:
    """Return the wiring of a file; see :func:`topoopt.wirings.read_wiring_file`.

    Raises
    ------
    InvalidInput
        With the line or the place in JSON, as there; for more servers or links than are scheduled for.
    """
    made, _ = read_wiring_file(path, links, degree)
    check_size(made.servers, len(made.arcs[0]))
    return direct_wiring(str(path), made, bandwidth_bps)
