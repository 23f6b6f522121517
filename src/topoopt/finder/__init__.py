"""Finding the topology of a job: rings for what is mutable, few hops for what is not."""

from topoopt.finder.circuits import demand_circuits as demand_circuits
from topoopt.finder.circuits import first_circuits as first_circuits
from topoopt.finder.coin_rings import coin_patterns as coin_patterns
from topoopt.finder.degree_split import DEGREE_SPLITS as DEGREE_SPLITS
from topoopt.finder.fabric_shape import FabricShape as FabricShape
from topoopt.finder.fabrics import FABRICS as FABRICS
from topoopt.finder.fabrics import FabricBuilder as FabricBuilder
from topoopt.finder.fabrics import build_fabric as build_fabric
from topoopt.finder.improved_circuits import improved_circuits as improved_circuits
from topoopt.finder.matching import DAMPING as DAMPING
from topoopt.finder.reconfigurable import ReconfigurableBuilder as ReconfigurableBuilder
from topoopt.finder.reconfigurable import reached as reached
from topoopt.finder.reconfigurable import reconfigurable_fabric as reconfigurable_fabric
from topoopt.finder.reconfigurable import rewired as rewired
from topoopt.finder.regional_circuits import exchange_time_s as exchange_time_s
from topoopt.finder.regional_circuits import regional_circuits as regional_circuits
from topoopt.finder.regional_optimum import best_regional_circuits as best_regional_circuits
from topoopt.finder.rings import lay_rings as lay_rings
from topoopt.finder.select_permutations import STRIDE_RULES as STRIDE_RULES
from topoopt.finder.select_permutations import ring_interfaces as ring_interfaces
from topoopt.finder.select_permutations import select_permutations as select_permutations
from topoopt.finder.stride_fabric import StrideBuilder as StrideBuilder
from topoopt.finder.topology_finder import find_topology as find_topology
from topoopt.finder.totient_perms import totient_perms as totient_perms
