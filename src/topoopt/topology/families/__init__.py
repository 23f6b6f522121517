"""The wirings that are known by name."""

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
