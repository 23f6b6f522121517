"""Which accelerators of which servers a replica has: inside one server where it fits, else on whole servers."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible
from topoopt.inference.deployment import Deployment, Pool


@dataclass(frozen=True, eq=False, slots=True)
class Placement:
    """The server of every accelerator of every replica.

    Inside a replica the ranks of tensor parallelism are numbered fastest, then the copies of attention, then stages.

    Attributes
    ----------
    servers : int
        That are used: 0 .. servers-1.
    prefill, decode : int64 arrays, shape (replicas, accelerators of a replica)
        The first has no rows where one pool does both.
    """

    servers: int
    prefill: Ints
    decode: Ints


def place(deployment: Deployment, accelerators_per_server: int, servers: int) -> Placement:
    """Return the placement, prefill first; decode on servers of its own where there are enough.

    A replica that fits into a server never lies on two; one that does not begins on a server of its own, so that its
    groups lie on as few servers as they can.

    Raises
    ------
    Infeasible
        If there are too few servers.
    """
    prefill = _laid(deployment.prefill, accelerators_per_server, 0)
    first = 0 if prefill is None else _end(prefill)
    whole = -(-first // accelerators_per_server) * accelerators_per_server
    room = servers * accelerators_per_server
    decode = _laid(deployment.decode, accelerators_per_server, whole)
    assert decode is not None
    if _end(decode) > room:
        decode = _laid(deployment.decode, accelerators_per_server, first)
        assert decode is not None
    needed = -(-_end(decode) // accelerators_per_server)
    if needed > servers:
        raise Infeasible(
            f"servers: {deployment.accelerators} accelerators of {accelerators_per_server} a server lie on {needed} "
            f"servers, as replicas are not torn apart; got {servers}"
        )
    none = np.zeros((0, 1), np.int64)
    return Placement(
        needed,
        none if prefill is None else prefill // accelerators_per_server,
        decode // accelerators_per_server,
    )


def on_servers(ranks: Ints, servers: int) -> Floats:
    """Return the share of each replica that lies on each server, shape (replicas, servers).

    Parameters
    ----------
    ranks : int64 array, shape (replicas, accelerators of a replica)
        Servers.
    """
    shares = np.zeros((len(ranks), servers))
    np.add.at(shares, (np.arange(len(ranks))[:, None], ranks), 1.0 / max(ranks.shape[1], 1))
    return shares


def _laid(pool: Pool | None, per_server: int, first: int) -> Ints | None:
    """Return the accelerators of each replica, from ``first`` on."""
    if pool is None:
        return None
    size = pool.parallelism.accelerators
    if size >= per_server:
        each = -(-size // per_server) * per_server
        start = -(-first // per_server) * per_server
        starts = start + each * np.arange(pool.replicas)
    else:
        fit = per_server // size
        done = -(-(first % per_server) // size)  # places of the server that has been begun
        place = done + np.arange(pool.replicas)
        starts = (first // per_server + place // fit) * per_server + place % fit * size
    return np.asarray(starts[:, None] + np.arange(size), np.int64)


def _end(accelerators: Ints) -> int:
    return int(accelerators.max()) + 1
