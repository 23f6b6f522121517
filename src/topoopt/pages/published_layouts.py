"""Published ways of training beside the best that was found: a table, where some are known."""

from collections.abc import Sequence
from functools import partial

from topoopt.base.units import format_memory
from topoopt.jobs import PublishedLayout
from topoopt.pages.page import Section
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import yes_or_no


def published_sections(model: str, published: Sequence[PublishedLayout]) -> tuple[Section, ...]:
    """Return the section of the published ways; none where none is known."""
    if not published:
        return ()
    rows = table(
        "",
        published,
        text("configuration", "name"),
        number("iteration", "estimated_s"),
        number("vs. best", "over_best", "+z.1%"),
        number("rank", lambda one: f"{one.rank:,} of {one.compared:,}"),
        number("memory", "memory_bytes", format_memory),
        text("fits", "fits", yes_or_no),
        text("published", partial(_origin, model)),
    )
    remark = "in closed form, with the replicas that there are accelerators for"
    slower = {one.name: _why_slower(one) for one in published if one.faster_with}
    blocks = (rows, facts(slower)) if slower else (rows,)
    return (Section("published", "Published practice", "", blocks, remark),)


def _why_slower(one: PublishedLayout) -> str:
    """Return what the fastest does otherwise, in a line."""
    steps = [f"{words} saves {share:.1%}" for words, share in one.faster_with.items()]
    return f"the fastest does otherwise: {', then '.join(steps)}"


def published_line(one: PublishedLayout) -> str:
    """Return a published way in a line: by how much it is slower, where it stands, whether it fits."""
    fits = "fits" if one.fits else "does not fit"
    difference = f"{abs(one.over_best):.1%} {'slower' if one.over_best >= 0 else 'faster'} in closed form"
    return f"{one.source}, {one.name}: {difference}, rank {one.rank:,} of {one.compared:,}; {fits}"


def _origin(model: str, one: PublishedLayout) -> str:
    other = f"{one.model}, " if one.model != model else ""
    return f"{one.source} ({other}{one.accelerators:,} {one.accelerator}, {one.precision})"
