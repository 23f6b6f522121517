"""Topologies, rings, and the families that make them."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.topologies.breadth_first_kernel import Sent as Sent
    from topoopt.topologies.breadth_first_kernel import lay_broadcast as lay_broadcast
    from topoopt.topologies.broadcast import BroadcastSteps as BroadcastSteps
    from topoopt.topologies.broadcast import WiringInLinks as WiringInLinks
    from topoopt.topologies.broadcast import all_joined as all_joined
    from topoopt.topologies.broadcast import broadcast_steps as broadcast_steps
    from topoopt.topologies.broadcast import links_among as links_among
    from topoopt.topologies.broadcast import ports_of_all as ports_of_all
    from topoopt.topologies.broadcast import reversed_links as reversed_links
    from topoopt.topologies.direct_wiring import DirectWiring as DirectWiring
    from topoopt.topologies.direct_wiring import LinkOrbits as LinkOrbits
    from topoopt.topologies.direct_wiring import WiredRing as WiredRing
    from topoopt.topologies.direct_wiring import link_orbits as link_orbits
    from topoopt.topologies.direct_wiring import most_turns as most_turns
    from topoopt.topologies.direct_wiring import turn_of as turn_of
    from topoopt.topologies.direct_wiring import turns as turns
    from topoopt.topologies.direct_wiring import wiring_of_arcs as wiring_of_arcs
    from topoopt.topologies.families.circulant import LINK_MODELS as LINK_MODELS
    from topoopt.topologies.families.circulant import circulant as circulant
    from topoopt.topologies.families.circulant import circulant_offsets as circulant_offsets
    from topoopt.topologies.families.circulant import circulant_wiring as circulant_wiring
    from topoopt.topologies.families.circulant import links_along as links_along
    from topoopt.topologies.families.circulant import stride_offsets as stride_offsets
    from topoopt.topologies.families.fat_tree import fat_tree as fat_tree
    from topoopt.topologies.families.fat_tree import fat_tree_arity as fat_tree_arity
    from topoopt.topologies.families.fat_tree import ideal_switch as ideal_switch
    from topoopt.topologies.families.fat_tree import rail as rail
    from topoopt.topologies.families.lifted import LiftShape as LiftShape
    from topoopt.topologies.families.lifted import SearchInterrupted as SearchInterrupted
    from topoopt.topologies.families.lifted import Tick as Tick
    from topoopt.topologies.families.lifted import lifted as lifted
    from topoopt.topologies.families.lifted import lifted_of as lifted_of
    from topoopt.topologies.families.lifted_kernel import best_circulant as best_circulant
    from topoopt.topologies.families.regular import WIRING_FAMILIES as WIRING_FAMILIES
    from topoopt.topologies.families.regular import expander as expander
    from topoopt.topologies.families.switch_graphs import RailShape as RailShape
    from topoopt.topologies.families.switch_graphs import dragonfly as dragonfly
    from topoopt.topologies.families.switch_graphs import dragonfly_plus as dragonfly_plus
    from topoopt.topologies.families.switch_graphs import in_planes as in_planes
    from topoopt.topologies.families.switch_graphs import jellyfish as jellyfish
    from topoopt.topologies.families.switch_graphs import leaf_spine as leaf_spine
    from topoopt.topologies.families.switch_graphs import polarfly as polarfly
    from topoopt.topologies.families.switch_graphs import rail_optimized as rail_optimized
    from topoopt.topologies.families.switch_graphs import slim_fly_plane as slim_fly_plane
    from topoopt.topologies.families.torus import full_mesh as full_mesh
    from topoopt.topologies.families.torus import torus as torus
    from topoopt.topologies.families.torus import torus_shape as torus_shape
    from topoopt.topologies.metrics import HopMetrics as HopMetrics
    from topoopt.topologies.metrics import Trees as Trees
    from topoopt.topologies.metrics import hop_metrics as hop_metrics
    from topoopt.topologies.metrics import hops_from as hops_from
    from topoopt.topologies.metrics import moore_average_hops as moore_average_hops
    from topoopt.topologies.metrics import moore_histogram as moore_histogram
    from topoopt.topologies.metrics import tree_of_rows as tree_of_rows
    from topoopt.topologies.metrics import trees_from as trees_from
    from topoopt.topologies.metrics import trees_to as trees_to
    from topoopt.topologies.metrics import wiring_hops as wiring_hops
    from topoopt.topologies.topology import Link as Link
    from topoopt.topologies.topology import Ring as Ring
    from topoopt.topologies.topology import Topology as Topology
    from topoopt.topologies.topology import places_of as places_of
    from topoopt.topologies.topology import topology_from_arrays as topology_from_arrays
    from topoopt.topologies.topology import topology_from_links as topology_from_links
    from topoopt.topologies.topology import topology_of_cables as topology_of_cables

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
