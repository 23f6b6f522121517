"""The noun ParallelStrategy: how each operator is split and where its parts sit."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True, order=True)
class OperatorSplit:
    """How one operator is split over servers.

    The operator has ``batch_degree × channel_degree`` parts. Part ``b·channel_degree + c`` holds the b-th
    contiguous range of the batch and the c-th contiguous range of the channel dimension, and sits on
    ``start + (b·channel_degree + c)·n/parts``: parts are in ascending order of servers.

    Attributes
    ----------
    batch_degree : int
        Data-parallel degree: replicas of the weights.
    start : int
        First server, in 0 .. n/parts - 1.
    channel_degree : int
        Tensor-parallel degree, 1 for none.
    channel_dim : str
        What is split: ``none``, ``out`` or ``in`` (linear layers), ``rows`` or ``columns`` (embedding tables).
    """

    batch_degree: int
    start: int = 0
    channel_degree: int = 1
    channel_dim: str = "none"

    def __post_init__(self) -> None:
        if self.batch_degree < 1 or self.channel_degree < 1:
            raise InvalidInput(
                f"operator split: degrees must be >= 1, got {self.batch_degree}×{self.channel_degree}"
            )
        if (self.channel_dim == "none") != (self.channel_degree == 1):
            raise InvalidInput(
                f"operator split: channel_degree {self.channel_degree} does not go "
                f"with channel_dim {self.channel_dim}"
            )

    @property
    def parts(self) -> int:
        """Number of servers used."""
        return self.batch_degree * self.channel_degree

    def servers(self, servers: int) -> tuple[int, ...]:
        """Return the server of each part, ascending.

        Examples
        --------
        >>> OperatorSplit(batch_degree=4, start=1).servers(12)
        (1, 4, 7, 10)
        """
        if servers % self.parts or not 0 <= self.start < servers // self.parts:
            raise InvalidInput(
                f"operator split: {self.parts} parts from server {self.start} do not fit "
                f"{servers} servers evenly"
            )
        step = servers // self.parts
        return tuple(range(self.start, servers, step))

    def replica_groups(self, servers: int) -> tuple[tuple[int, ...], ...]:
        """Return the servers of each channel range's replicas, shape (channel_degree, batch_degree)."""
        placed = self.servers(servers)
        return tuple(placed[c :: self.channel_degree] for c in range(self.channel_degree))


@dataclass(frozen=True, slots=True)
class ParallelStrategy:
    """One :class:`OperatorSplit` per operator of a graph, on ``servers`` servers.

    A transformer in pipeline stages has no operators: its strategy is one of the layouts of
    :class:`topoopt.jobs.TransformerWork`, by its place.
    """

    servers: int
    splits: tuple[OperatorSplit, ...]
    layout: int = 0

    def __post_init__(self) -> None:
        for split in self.splits:
            split.servers(self.servers)
