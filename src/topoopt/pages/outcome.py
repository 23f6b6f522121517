"""What an iteration comes to, whatever it ran on: figures and key numbers."""

from topoopt.base.units import format_time
from topoopt.pages.page import Tile
from topoopt.plans import Outcome


def outcome_figures(outcome: Outcome) -> dict[str, float | None]:
    """Return times, bytes and tax by the names of their fields."""
    return {key: value for key, value in outcome.to_json().items() if key not in ("simulator", "algorithms")}


def time_tiles(outcome: Outcome, remark: str) -> tuple[Tile, Tile]:
    """Return the iteration time with a remark, and how much of it is communication that nothing hides."""
    exposed_s = outcome.exposed_communication_s
    share = f"{exposed_s / outcome.iteration_time_s:.0%} of the iteration"
    return (
        Tile("Iteration time", format_time(outcome.iteration_time_s), remark),
        Tile("Exposed communication", format_time(exposed_s), share),
    )
