"""Wirings with settings of their own: the families of the table, called with what a shape says."""

from collections.abc import Mapping

from topoopt.finder.fabric_request import FabricRequest
from topoopt.topology import FAMILIES, Topology, fat_tree, rail, torus

SETTINGS: Mapping[str, frozenset[str]] = {
    "fat-tree": frozenset({"arity"}),
    "oversub-fat-tree": frozenset({"arity", "oversubscription"}),
    "rail": frozenset({"leaf_ports", "oversubscription"}),
    "torus": frozenset({"twisted"}),
}
"""What the wiring of a fabric can be told."""

_PAPERS_OVERSUBSCRIPTION = 2.0


def shaped_wiring(family: str, request: FabricRequest, each_bps: float) -> Topology:
    """Return the wiring in which every server has as many interfaces as requested, of ``each_bps``.

    Raises
    ------
    InvalidInput
        If a number is outside what the wiring allows.
    """
    servers, degree, latency_s, shape = request.servers, request.degree, request.latency_s, request.shape
    together_bps = degree * each_bps
    match family:
        case "fat-tree":
            return fat_tree(servers, together_bps, latency_s, 1.0, shape.arity, shape.switches)
        case "oversub-fat-tree":
            ratio = _PAPERS_OVERSUBSCRIPTION if shape.oversubscription is None else shape.oversubscription
            return fat_tree(servers, together_bps, latency_s, ratio, shape.arity, shape.switches)
        case "rail":
            ratio = 1.0 if shape.oversubscription is None else shape.oversubscription
            return rail(servers, degree, each_bps, latency_s, shape.leaf_ports, ratio, shape.switches)
        case "torus" if shape.twisted:
            return torus(servers, together_bps, latency_s, 3, degree, twisted=True)
        case _:
            return FAMILIES[family](servers, degree, each_bps, latency_s, request.seed)
