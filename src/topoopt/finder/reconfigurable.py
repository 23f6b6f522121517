"""Fabrics of circuits that follow the traffic: OCS-reconfig and SiP-ML, and what they are between changes."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.finder.circuits import first_circuits
from topoopt.finder.fabric_request import FabricRequest
from topoopt.finder.regional_circuits import Circuits
from topoopt.routing import ROUTING, DirectRoutes, Fabric, Reconfiguration, beat
from topoopt.topologies import topology_from_arrays

OCS_DELAY_S = 10e-3
"""A change of a 3D MEMS switch (TopoOpt, NSDI 2023, section 5.1)."""

SIP_ML_DELAY_S = 25e-6
"""A change of wavelengths, from memory of the paper, unconfirmed."""


@dataclass(frozen=True, slots=True)
class ReconfigurableBuilder:
    """Builds one reconfigurable fabric; called like :class:`topoopt.finder.FabricBuilder`.

    Attributes
    ----------
    family : str
        Name of the fabric.
    delay_s : float
        How long a change takes by default.
    duplex, host_forwarding : bool
        See :class:`topoopt.routing.Reconfiguration`; forwarding is a default, too.
    """

    family: str
    delay_s: float
    duplex: bool
    host_forwarding: bool

    def __call__(self, request: FabricRequest) -> Fabric:
        """Return the fabric with its random circuits of the start.

        Groups get no rings of their own: these go in member order over whatever circuits there are. The shape may
        name another delay, with which the beat of changes goes, and whether servers forward.

        Raises
        ------
        InvalidInput
            If a number is outside what is possible.
        """
        settings = request.shape.chosen(self.family, frozenset({"delay_s", "host_forwarding"}))
        rule = Reconfiguration(
            request.degree,
            request.each_bps(),
            request.latency_s,
            *beat(settings.get("delay_s", self.delay_s)),
            duplex=self.duplex,
            host_forwarding=settings.get("host_forwarding", self.host_forwarding),
            seed=request.seed,
        )
        return reconfigurable_fabric(self.family, request.servers, rule)


RECONFIGURABLE = (
    ReconfigurableBuilder("ocs-reconfig", OCS_DELAY_S, duplex=True, host_forwarding=True),
    ReconfigurableBuilder("sip-ml", SIP_ML_DELAY_S, duplex=False, host_forwarding=False),
)


def reconfigurable_fabric(name: str, servers: int, rule: Reconfiguration) -> Fabric:
    """Return a fabric that follows the rule, with the circuits of the start.

    Raises
    ------
    InvalidInput
        As :func:`topoopt.finder.first_circuits`.
    """
    return _wired(name, first_circuits(servers, rule), rule)


def rewired(fabric: Fabric, circuits: Circuits) -> Fabric:
    """Return the reconfigurable fabric with other circuits and the routes that go with them.

    With host forwarding these are ECMP over shortest paths between all servers; without, every pair has its
    own circuit or no route, see :func:`reached`.

    Parameters
    ----------
    circuits : int64 array, shape (servers, servers)
        Number of circuits of each ordered pair; see ``finder/circuits.py``.
    """
    return _wired(fabric.name, circuits, fabric.beat)


def reached(fabric: Fabric, src: Ints, dst: Ints) -> Flags:
    """Return which ordered pairs of distinct servers have a route at present, shape (pairs,)."""
    if fabric.reconfiguration is None or fabric.beat.host_forwarding:
        return np.ones(len(src), bool)
    return fabric.topology.link_ids(src, dst) >= 0


def _wired(name: str, circuits: Circuits, rule: Reconfiguration) -> Fabric:
    src, dst = np.nonzero(circuits)
    count = circuits[src, dst]
    src, dst = np.repeat(src, count), np.repeat(dst, count)
    topology = topology_from_arrays(name, len(circuits), src, dst, rule.bandwidth_bps, rule.latency_s)
    routes = ROUTING["ecmp"](topology, rule.seed) if rule.host_forwarding else DirectRoutes(topology)
    return Fabric(name, topology, routes, {}, rule)
