"""Published ways of training that a search did not look at: what rules each out, and what to give to have it."""

from collections.abc import Sequence

from topoopt.pages.page import Section
from topoopt.pages.rows import facts
from topoopt.transformers import NotSearched


def not_searched_sections(left_out: Sequence[NotSearched]) -> tuple[Section, ...]:
    """Return the section of what was left out; none where nothing was."""
    if not left_out:
        return ()
    lines = {one.name: f"{_origin(one)}: {'; '.join(one.because.values())}{_remedy(one)}" for one in left_out}
    remark = "published for this model, and not among the configurations above"
    return (Section("not_searched", "Not searched", "", (facts(lines),), remark),)


def _origin(one: NotSearched) -> str:
    return f"{one.source} ({one.accelerators:,} {one.accelerator}, {one.precision})"


def _remedy(one: NotSearched) -> str:
    if not one.give:
        return ""
    return "; to have it, give " + " ".join(f"{name}={value}" for name, value in one.give.items())
