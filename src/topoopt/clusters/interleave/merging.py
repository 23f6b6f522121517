"""Links whose jobs one interleaving suits are one link of the affinity graph; else nearly every graph has a loop."""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.errors import check_known
from topoopt.clusters.interleave.shared_link import SharedLink, highest_profile

MERGING = ("strict", "identical", "contained")
"""Which links of several jobs become one.

``strict``: none, as the paper's text has it. ``identical``: those on which the same jobs send the same, the one of
least capacity deciding, and the two directions of a cable on which the same jobs meet. ``contained``: also those whose
jobs all meet on another link, and never take a larger part of theirs: what keeps the fuller one from being short keeps
them from it. But for ``strict``, a link that cannot be short whenever its jobs send asks for nothing."""


@dataclass(frozen=True, slots=True)
class MergedLink:
    """Links that one interleaving is found for.

    Attributes
    ----------
    decides : SharedLink
        The demands and the capacity that it is found for.
    links : tuple of SharedLink
        All that are in it.
    """

    decides: SharedLink
    links: tuple[SharedLink, ...]


def merge_links(links: Sequence[SharedLink], merging: str = "identical") -> tuple[MergedLink, ...]:
    """Return the links that the affinity graph has, each standing for all that are like it.

    Parameters
    ----------
    links : sequence of SharedLink
        Those with one job are left out.
    merging : str
        Name in :data:`MERGING`.

    Returns
    -------
    tuple of MergedLink
        Those of most jobs first.

    Raises
    ------
    InvalidInput
        If there is no such way to merge.
    """
    check_known("merging", merging, MERGING)
    if merging == "strict":
        return tuple(MergedLink(link, (link,)) for link in links if len(link.profiles) > 1)
    cables = _joined_directions([link for link in links if link.can_be_short])
    merged: list[tuple[SharedLink, list[SharedLink]]] = []
    for link, parts in sorted(cables, key=lambda cable: (-len(cable[0].profiles), -cable[0].fullness)):
        for decides, members in merged:
            if decides.same_demands(link) or (merging == "contained" and decides.covers(link)):
                members.extend(parts)
                break
        else:
            merged.append((link, list(parts)))
    return tuple(MergedLink(decides, tuple(members)) for decides, members in merged)


def _joined_directions(links: Sequence[SharedLink]) -> list[tuple[SharedLink, list[SharedLink]]]:
    """Return links with what they stand for: two directions of a cable with the same jobs become one link.

    A job asks of it whatever it asks of either: when that fits, both directions do.
    """
    together: dict[tuple[str, str, frozenset[str]], list[SharedLink]] = {}
    for link in links:
        key = link.cable, "" if link.cable else link.link, frozenset(link.jobs)
        together.setdefault(key, []).append(link)
    return [(_joined(parts), parts) for parts in together.values()]


def _joined(parts: Sequence[SharedLink]) -> SharedLink:
    first = parts[0]
    if all(first.same_demands(part) for part in parts[1:]):
        return min(parts, key=lambda part: part.capacity_bps)
    profiles = tuple(highest_profile([part.jobs[job] for part in parts]) for job in first.jobs)
    return SharedLink(first.cable, min(part.capacity_bps for part in parts), profiles, first.cable)
