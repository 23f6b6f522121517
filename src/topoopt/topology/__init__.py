"""What is wired: topologies, rings, and the families that make them."""

from topoopt.topology.breadth_first import Trees as Trees
from topoopt.topology.breadth_first import hops_from as hops_from
from topoopt.topology.breadth_first import trees_from as trees_from
from topoopt.topology.breadth_first import trees_to as trees_to
from topoopt.topology.families.circulant import LINK_MODELS as LINK_MODELS
from topoopt.topology.families.circulant import circulant as circulant
from topoopt.topology.families.circulant import circulant_offsets as circulant_offsets
from topoopt.topology.families.circulant import stride_offsets as stride_offsets
from topoopt.topology.families.expander import expander as expander
from topoopt.topology.families.family import Family as Family
from topoopt.topology.families.fat_tree import fat_tree as fat_tree
from topoopt.topology.families.fat_tree import fat_tree_arity as fat_tree_arity
from topoopt.topology.families.full_mesh import full_mesh as full_mesh
from topoopt.topology.families.ideal_switch import ideal_switch as ideal_switch
from topoopt.topology.families.rail import rail as rail
from topoopt.topology.families.table import FAMILIES as FAMILIES
from topoopt.topology.families.torus import torus as torus
from topoopt.topology.families.torus import torus_shape as torus_shape
from topoopt.topology.metrics import HopMetrics as HopMetrics
from topoopt.topology.metrics import hop_metrics as hop_metrics
from topoopt.topology.ring import Ring as Ring
from topoopt.topology.topology import DEFAULT_LATENCY_S as DEFAULT_LATENCY_S
from topoopt.topology.topology import Link as Link
from topoopt.topology.topology import Topology as Topology
from topoopt.topology.topology import topology_from_arrays as topology_from_arrays
from topoopt.topology.topology import topology_from_links as topology_from_links
