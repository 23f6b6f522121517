"""Finding the topology of a job: rings for mutable traffic, few hops for other traffic."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.finder.fabric_request import DEGREE_SPLITS as DEGREE_SPLITS
    from topoopt.finder.fabric_request import FabricRequest as FabricRequest
    from topoopt.finder.fabric_request import FabricShape as FabricShape
    from topoopt.finder.fabric_request import check_degree as check_degree
    from topoopt.finder.fabric_request import layout_splits as layout_splits
    from topoopt.finder.fabric_request import wired_interfaces as wired_interfaces
    from topoopt.finder.fabrics import build_fabric as build_fabric
    from topoopt.finder.fabrics import cluster_of_wiring as cluster_of_wiring
    from topoopt.finder.fabrics import stride_fabric as stride_fabric
    from topoopt.finder.graph_price import graph_price as graph_price
    from topoopt.finder.graph_price import network_of_planes as network_of_planes
    from topoopt.finder.hamiltonian_rings import hamiltonian_rings as hamiltonian_rings
    from topoopt.finder.hamiltonian_rings import one_way_rings as one_way_rings
    from topoopt.finder.named_wiring import STRIDES as STRIDES
    from topoopt.finder.named_wiring import WIRING_NAMES as WIRING_NAMES
    from topoopt.finder.named_wiring import RingNetwork as RingNetwork
    from topoopt.finder.named_wiring import is_wiring_file as is_wiring_file
    from topoopt.finder.named_wiring import listed_strides as listed_strides
    from topoopt.finder.named_wiring import named_wiring as named_wiring
    from topoopt.finder.named_wiring import ring_network as ring_network
    from topoopt.finder.named_wiring import wirings_of as wirings_of
    from topoopt.finder.reconfigurable import circuit_fabric as circuit_fabric
    from topoopt.finder.reconfigurable import demand_circuits as demand_circuits
    from topoopt.finder.reconfigurable import first_circuits as first_circuits
    from topoopt.finder.reconfigurable import reached as reached
    from topoopt.finder.reconfigurable import reconfigurable_fabric as reconfigurable_fabric
    from topoopt.finder.reconfigurable import rewired as rewired
    from topoopt.finder.regional_circuits import best_regional_circuits as best_regional_circuits
    from topoopt.finder.regional_circuits import exchange_time_s as exchange_time_s
    from topoopt.finder.regional_circuits import improved_circuits as improved_circuits
    from topoopt.finder.regional_circuits import mixnet as mixnet
    from topoopt.finder.regional_circuits import regional_circuits as regional_circuits
    from topoopt.finder.rings import busiest_share as busiest_share
    from topoopt.finder.rings import coin_patterns as coin_patterns
    from topoopt.finder.rings import direct_rings as direct_rings
    from topoopt.finder.rings import lay_rings as lay_rings
    from topoopt.finder.select_permutations import STRIDE_RULES as STRIDE_RULES
    from topoopt.finder.select_permutations import ring_interfaces as ring_interfaces
    from topoopt.finder.select_permutations import select_permutations as select_permutations
    from topoopt.finder.topology_finder import LARGEST_MATRIX as LARGEST_MATRIX
    from topoopt.finder.topology_finder import USUAL_RULES as USUAL_RULES
    from topoopt.finder.topology_finder import FinderRules as FinderRules
    from topoopt.finder.topology_finder import find_topology as find_topology
    from topoopt.finder.topology_finder import routed_by as routed_by
    from topoopt.finder.totient_perms import totient_perms as totient_perms
    from topoopt.finder.wiring import DAMPING as DAMPING
    from topoopt.finder.wiring import LIFTED as LIFTED

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
