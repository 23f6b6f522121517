"""The words of a price list and of how it is counted, which every verb that prices networks takes."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Word, panel


@panel("Prices")
class PriceListWords(TypedDict, total=False):
    """By which list networks are priced, and what is counted."""

    prices: Annotated[str, Word("2026|2025|2022|FILE", "2026")]
    """Price list: 2026, or those of papers, 2025 (MixNet) and 2022 (TopoOpt); a file lays its rows over the list to
    its left: 2025,mine.csv; alone over 2026, behind none over nothing."""
    accounting: Annotated[str, Word("NAME", "complete")]
    """complete: whole switches that can be bought, in the fewest tiers that reach. paper: the ports of a fat-tree of
    three tiers. no-look-ahead, fat-tree-fiber: as paper, with less counted."""
    tiers: Annotated[int, Word("1|2|3")]
    """Layers of switches; the fewest that reach, 3 where ports are counted."""
    fiber_length: Annotated[float, Word("METERS")]
    """Mean length of a link; by where servers stand in the room, 500 with ``accounting`` paper."""


@panel("Prices")
class PricingWords(PriceListWords, total=False):
    """The same, and what links are made of."""

    link_technology: Annotated[str, Word("KIND", "pluggable")]
    """pluggable, linear (modules without a signal processor), co-packaged (optics in the switch) or copper (where it
    reaches, servers to switches)."""
