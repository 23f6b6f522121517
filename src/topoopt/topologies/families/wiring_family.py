"""The noun WiringFamily: direct wirings that are known once servers, interfaces and kind of link are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from topoopt.topologies.direct_wiring import DirectWiring


@dataclass(frozen=True, slots=True)
class WiringFamily:
    """Builds the members of one family that fit.

    Attributes
    ----------
    exists : function
        From servers, degree and kind of link to whether there is a member in which no interface idles but those that
        loops would take.
    build : function
        From the same, where it exists, to the members worth looking at.
    what : str
        What it is, in a few words.
    """

    exists: Callable[[int, int, str], bool]
    build: Callable[[int, int, str], Iterator[DirectWiring]]
    what: str
