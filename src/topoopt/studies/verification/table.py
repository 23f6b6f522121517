"""The table of checks, in the order in which they are looked at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.studies.verification.check import Check
from topoopt.studies.verification.connectivity import check_connected, check_single_failures
from topoopt.studies.verification.forwarding import check_forwarding
from topoopt.studies.verification.link_bytes import check_link_bytes
from topoopt.studies.verification.numbers import check_numbers
from topoopt.studies.verification.ports import check_degree, check_panels
from topoopt.studies.verification.rings import check_rings
from topoopt.studies.verification.routes import check_routes, check_weights
from topoopt.studies.verification.schedules import check_schedules
from topoopt.studies.verification.subject import Subject


@dataclass(frozen=True, slots=True)
class CheckRow:
    """What a check is about, and what looks at it."""

    text: str
    look: Callable[[Subject], Check]
    needs: tuple[str, ...] = ()
    """Checks that have to pass first; else it could not be looked at."""


CHECKS: Mapping[str, CheckRow] = {
    "ports": CheckRow(
        "no server has more links than ports; a cable goes both ways, at its bandwidth", check_degree
    ),
    "panels": CheckRow(
        "every cable end has a port of its own, both ends on one panel", check_panels, ("ports",)
    ),
    "connectivity": CheckRow("every server reaches every other", check_connected),
    "single failures": CheckRow("and still does without any one cable", check_single_failures),
    "routes": CheckRow("every path leads from its source to its destination, no server twice", check_routes),
    "weights": CheckRow("the weights of a pair's paths sum to 1", check_weights),
    "forwarding": CheckRow(
        "what servers do hop by hop is what the routes say, and everything arrives",
        check_forwarding,
        ("routes", "weights"),
    ),
    "rings": CheckRow("every ring meets each of its group once, over links", check_rings),
    "schedules": CheckRow(
        "collectives that are no rings end with what they are for", check_schedules, ("routes", "rings")
    ),
    "bytes": CheckRow(
        "what every link carries, summed anew, is what the plan and its simulator say",
        check_link_bytes,
        ("routes", "rings"),
    ),
    "numbers": CheckRow(
        "times, bounds, distances and sums are as stated, no time below its bound",
        check_numbers,
        ("connectivity", "routes", "rings"),
    ),
}
