"""The noun Routes: weighted paths of a pair, whatever found them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Path:
    """A node sequence with both ends, and the share of the pair's bytes that takes it."""

    nodes: tuple[int, ...]
    weight: float = 1.0

    @property
    def hops(self) -> int:
        """Number of links."""
        return len(self.nodes) - 1


class Routes(Protocol):
    """Where the bytes of a pair go."""

    @property
    def method(self) -> str:
        """Name in the table of routing methods."""
        ...

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of an ordered pair of distinct servers; the weights sum to 1.

        Raises
        ------
        NoRoute
            If ``dst`` cannot be reached.
        """
        ...
