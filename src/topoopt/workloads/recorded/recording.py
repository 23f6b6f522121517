"""The noun Recording: what the accelerators of a training run have sent, as somebody wrote it down."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded.calls import Calls
from topoopt.workloads.recorded.device_times import DeviceTimes

MOST_RANKS = 100_000
"""Of a run; more are taken for damage."""


@dataclass(frozen=True, eq=False)
class Recording:
    """All calls of a recording, and what it says of the machines.

    Attributes
    ----------
    what : str
        Which kind of file it is of, in words.
    place : str
        The file or folder, for messages.
    accelerators : int
        Ranks of the run.
    calls : Calls
    recorded : frozenset of int
        Ranks that were recorded, whether they call anything or not.
    iterations : int
        Iterations that were recorded; 0 where nothing says so.
    servers : tuple of int
        The server of each rank; empty where nothing says so.
    devices : tuple of DeviceTimes
        When the kernels of recorded ranks ran; empty where nothing says so.
    """

    what: str
    place: str
    accelerators: int
    calls: Calls
    recorded: frozenset[int]
    iterations: int = 0
    servers: tuple[int, ...] = ()
    devices: tuple[DeviceTimes, ...] = ()

    def __post_init__(self) -> None:
        if self.accelerators > MOST_RANKS:
            raise InvalidInput(f"{self.place}: {self.accelerators} ranks, at most {MOST_RANKS} are read")
