"""The words of a failure: what fails, when, and how often."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.word import Switch, Time, Word, panel


@panel("One failure")
class FailureWords(TypedDict, total=False):
    """One failure."""

    link: Annotated[str | tuple[int, int], Word("A-B")]
    """The cable between servers A and B fails."""
    cable: Annotated[str, Word("ID")]
    """The cable of this label, from a server to a panel, fails."""
    server: Annotated[int | str, Word("N|NAME")]
    """Server N fails, or the one of this name."""
    panel: Annotated[int | str, Word("K|NAME")]
    """Panel (optical switch) K fails, or the one of this name: all links on it."""
    at: Time
    """When, such as 3h: shows the course of the job."""
    inventory: Annotated[str | os.PathLike[str], Word("FILE")]
    """Which server, interface, panel, port and cable is which (YAML, TOML, JSON). What it leaves out is made up."""
    without: Annotated[Sequence[str], Word("LIST")]
    """Repairs to leave out, such as spare,look-ahead."""


@panel("A month of failures")
class AvailabilityWords(TypedDict, total=False):
    """A month of failures."""

    availability: Switch
    """Let parts fail and be repaired by chance."""
    rates: Annotated[str | os.PathLike[str], Word("FILE")]
    """How often parts fail, how long repairs take, spares, restart (YAML)."""
    repaired_by: Annotated[str, Word("WHO")]
    """Who repairs, where no ``rates`` say how long that takes: robot (at the panels), on-site or remote-hands;
    on-site."""
    spares: int
    """Servers that stand by; one for every 64, or as ``rates`` say."""
    days: Annotated[float, Word("N", 30.0)]
    """How long."""
    runs: Annotated[int, Word("N", 1000)]
    """How many months."""
    seed: Annotated[int, Word("N", 0)]
    """Of all chance."""


class FailWords(FailureWords, AvailabilityWords, total=False):
    """All words that :func:`topoopt.fail` takes."""

    optics: Annotated[str, Word("NAME")]
    """What panels are, for the time of moves; patch-panel if not given."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """analytic: first come, first served on each link, quick. flow: fair shares over time. packet: every
    packet through every queue."""
