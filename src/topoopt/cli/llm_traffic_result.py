"""What ``topoopt llm traffic`` found, and the matrices that it shows and writes."""

from dataclasses import dataclass

import numpy as np

from topoopt.llm import (
    KINDS,
    Communication,
    Configuration,
    Floats,
    Ints,
    KindRow,
    RankRow,
    kind_rows,
    rank_matrix,
    rank_rows,
    server_matrix,
    server_traffic,
)
from topoopt.traffic import Traffic
from topoopt.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class LlmTraffic:
    """The communication of a configuration on servers.

    Attributes
    ----------
    loads : str or None
        As it was asked for.
    sent : tuple of Communication
    places : int64 array, shape (ranks,)
        The server of each rank.
    by : str
        ``server``, ``rank`` or ``kind``.
    """

    model: TransformerModel
    configuration: Configuration
    order: str
    loads: str | None
    iteration: int
    sent: tuple[Communication, ...]
    places: Ints
    by: str

    @property
    def servers(self) -> int:
        """Servers that the ranks take."""
        return int(self.places.max()) + 1

    @property
    def title(self) -> str:
        """Model and degrees in a line."""
        one = self.configuration
        degrees = (
            ("tp", one.tp),
            ("cp", one.cp),
            ("ep", one.ep),
            ("dp", one.dp),
            ("pp", one.pp),
            ("vpp", one.vpp),
        )
        said = " ".join(f"{word}{size}" for word, size in degrees if size > 1) or "one accelerator"
        return f"{self.model.name}, {said}"

    def first_stage(self) -> tuple[RankRow, ...]:
        """Return what rank 0 takes part in."""
        return rank_rows(self.sent)

    def kinds(self) -> tuple[KindRow, ...]:
        """Return what all ranks send, by kind."""
        return kind_rows(self.sent, self.places)

    def traffic(self) -> Traffic:
        """Return what servers send each other when collectives are hierarchical."""
        return server_traffic(self.sent, self.places)

    def matrices(self) -> dict[str, Floats]:
        """Return the matrices by name: one of servers, one of ranks, or one of servers for each kind with traffic.

        Bytes that stay inside a server are left out.
        """
        if self.by == "rank":
            return {"rank": rank_matrix(self.sent, len(self.places))}
        if self.by == "server":
            return {"server": _between(server_matrix(self.sent, self.places))}
        found = {kind: _between(server_matrix(self.sent, self.places, [kind])) for kind in KINDS}
        return {kind: matrix for kind, matrix in found.items() if matrix.any()}


def _between(matrix: Floats) -> Floats:
    np.fill_diagonal(matrix, 0.0)
    return matrix
