"""Who is beaten in price and time, in words: for the first sentence, a column and a note."""

from collections.abc import Callable, Sequence

from topoopt.base.units import format_time
from topoopt.pages.fabric_names import name_apart
from topoopt.pages.page import Notes
from topoopt.pages.words import listed, usd
from topoopt.plans import ComparedFabric, fabrics_that_beat, front_of_fabrics

BEATS = "beats it"
"""What the table says of a fabric that beats that of its first row."""


def beaten_by(rows: Sequence[ComparedFabric]) -> str:
    """Return which fabrics beat the first one in price and time, for its sentence; nothing where none does."""
    beat, name = fabrics_that_beat(rows[0], rows), name_apart(rows)
    if not beat:
        return ""
    each = (
        f"{name(row)}, {format_time(row.outcome.iteration_time_s)} for {usd(row.cost_usd)}" for row in beat
    )
    return f", beaten in time and price by {'; '.join(each)}"


def standing(rows: Sequence[ComparedFabric]) -> Callable[[ComparedFabric], str | None]:
    """Return what a table says of each of these rows: on the front, beats the first one, or beaten itself."""
    unbeaten, beat = front_of_fabrics(rows), fabrics_that_beat(rows[0], rows)

    def words(row: ComparedFabric) -> str | None:
        if row.cost_usd is None:
            return None
        return BEATS if row in beat else "front" if row in unbeaten else ""

    return words


def front_notes(rows: Sequence[ComparedFabric]) -> tuple[Notes, ...]:
    """Return which fabrics none beats in both price and time; nothing where fewer than two have a price."""
    if sum(row.cost_usd is not None for row in rows) < 2:
        return ()
    unbeaten = listed([name_apart(rows)(row) for row in front_of_fabrics(rows)])
    return (Notes((f"front of price and time, from the cheapest to the fastest: {unbeaten}",)),)
