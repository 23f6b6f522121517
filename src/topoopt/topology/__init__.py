"""What is wired: topologies, rings, and the families that make them."""

from topoopt.topology.ring import Ring as Ring
from topoopt.topology.topology import DEFAULT_LATENCY_S as DEFAULT_LATENCY_S
from topoopt.topology.topology import Link as Link
from topoopt.topology.topology import Topology as Topology
from topoopt.topology.topology import topology_from_arrays as topology_from_arrays
from topoopt.topology.topology import topology_from_links as topology_from_links
