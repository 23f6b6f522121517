"""A worker: one rank with its process groups and the rings that it has used."""

import datetime
from typing import Any

from topoopt.plugins.testbeds.collectives import MultiRing
from topoopt.plugins.testbeds.collectives.pytorch import dist, torch
from topoopt.plugins.testbeds.training.script import Rings

BACKEND = "gloo-at-address"
GIVE_UP_AFTER_S = 120.0


class Worker:
    """One rank, connected with all others.

    Attributes
    ----------
    rank, size : int
    transfers : process group
        For messages between two servers. They have connections of their own, so that AllReduces, which take those of
        the default group, do not wait behind them.
    kept : dict
        What programs leave for each other.
    """

    def __init__(self, rank: int, size: int, address: str, meeting_file: str) -> None:
        torch.set_num_threads(1)
        self.rank, self.size = rank, size
        self._rings: dict[Rings, MultiRing] = {}
        self.kept: dict[str, Any] = {}
        _register(address)
        patience = datetime.timedelta(seconds=GIVE_UP_AFTER_S)
        store = dist.FileStore(meeting_file, size)
        dist.init_process_group(BACKEND, store=store, rank=rank, world_size=size, timeout=patience)
        self.transfers: Any = dist.new_group(backend=BACKEND, timeout=patience)

    def multi_ring(self, rings: Rings) -> MultiRing:
        """Return the AllReduce over some rings; all members of them use it in the same order."""
        if rings not in self._rings:
            self._rings[rings] = MultiRing(rings, overlap=4)
        return self._rings[rings]


def _register(address: str) -> None:
    """Make gloo known that listens at an address of our choice; stock gloo takes the host's name or an interface."""

    def make(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
        gloo = dist.ProcessGroupGloo
        options = gloo._Options()
        options._devices = [gloo.create_device(hostname=address)]
        options._timeout = timeout
        return gloo(store, rank, size, options)

    dist.Backend.register_backend(BACKEND, make, devices=["cpu"])
