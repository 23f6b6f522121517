"""The rings of all servers as one network: how far apart they leave the servers, and how coins lead there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput, shown
from topoopt.catalog import ClusterSpec
from topoopt.finder.select_permutations import select_permutations
from topoopt.routing import CoinTable, coin_change_mod
from topoopt.topologies import moore_average_hops, stride_offsets

LISTED = "given"


@shows_itself
@dataclass(frozen=True, slots=True)
class RingNetwork:
    """Rings of all servers, and the shortest ways over them.

    Attributes
    ----------
    degree : int
        Ports of a server.
    rule : str
        The rule that chose the strides, or ``given``.
    strides : tuple of int
        Stride p is the ring i → i + p.
    table : CoinTable
        Fewest links to each distance, and which.
    """

    servers: int
    degree: int
    links: str
    rule: str
    strides: tuple[int, ...]
    table: CoinTable

    @property
    def hop_histogram(self) -> dict[int, int]:
        """Ordered pairs of servers by distance, as in a plan; from each server it looks the same."""
        counts = self.table.histogram().tolist()
        return {hops: self.servers * count for hops, count in enumerate(counts) if hops}

    @property
    def moore_average_hops(self) -> float:
        """No wiring of so many ports has less."""
        return moore_average_hops(self.servers, self.degree, self.links)

    def coins(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each distance and the strides that lead there."""
        for distance in range(1, self.servers):
            yield distance, tuple(self.table.sequence(distance))

    def to_json(self) -> dict[str, Any]:
        """Return the network as a mapping."""
        return {
            "servers": self.servers,
            "degree": self.degree,
            "links": self.links,
            "rule": self.rule,
            "strides": list(self.strides),
            "diameter": self.table.diameter,
            "average_hops": self.table.average_hops,
            "moore_average_hops": self.moore_average_hops,
            "hop_histogram": {str(hops): pairs for hops, pairs in self.hop_histogram.items()},
            "coins": {str(distance): list(steps) for distance, steps in self.coins()},
        }

    def to_frame(self) -> Frame:
        """Return a row for each distance in links, as pandas has it."""
        return frame({"hops": hops, "pairs": pairs} for hops, pairs in self.hop_histogram.items())


def ring_network(
    servers: int, degree: int | None = None, *, links: str = "duplex", strides: str | Sequence[int] = "best"
) -> RingNetwork:
    """Choose the rings of all servers by a rule, or take them from a list.

    Raises
    ------
    InvalidInput
        If the degree is missing where a rule chooses, a stride is none, or the strides take too many ports.
    """
    listed = listed_strides(strides)
    ClusterSpec(servers, 1 if degree is None else degree, 1e9, links=links)  # refuses what cannot be wired
    if not listed and degree is None:
        raise InvalidInput("degree: missing; give the ports of a server, such as 4")
    rule = LISTED if listed else str(strides)
    chosen = listed or select_permutations(servers, degree or 0, links=links, rule=rule)
    offsets = stride_offsets(servers, chosen, links)
    if degree is not None and len(offsets) > degree:
        named = ",".join(map(str, chosen))
        raise InvalidInput(
            f"strides: {named} take {len(offsets)} {links} ports of a server, got degree={degree}"
        )
    ports = len(offsets) if degree is None else degree
    return RingNetwork(servers, ports, links, rule, chosen, coin_change_mod(servers, offsets))


def listed_strides(strides: str | Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a list such as ``1,13``, none for the name of a rule.

    Raises
    ------
    InvalidInput
        If it is neither.
    """
    if not isinstance(strides, str):
        listed = tuple(strides)
    elif not any(character.isdigit() for character in strides):
        return ()
    else:
        try:
            listed = tuple(int(word) for word in strides.split(","))
        except ValueError:
            raise InvalidInput(
                f"strides: expected a rule or numbers with commas, such as 1,13, got {shown(strides)}"
            ) from None
    if not listed or min(listed) < 1:
        raise InvalidInput(f"strides: a stride must be >= 1, got {min(listed, default='none')}")
    return listed
