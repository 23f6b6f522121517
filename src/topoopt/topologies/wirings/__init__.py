"""The best wiring: families of direct wirings judged side by side, the search for better ones, and their files."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.topologies.wirings.answer import DIRECTED_WARNING as DIRECTED_WARNING
    from topoopt.topologies.wirings.answer import MOST_LINKS_OF_RINGS as MOST_LINKS_OF_RINGS
    from topoopt.topologies.wirings.answer import JudgedWiring as JudgedWiring
    from topoopt.topologies.wirings.answer import WiringAnswer as WiringAnswer
    from topoopt.topologies.wirings.answer import judged as judged
    from topoopt.topologies.wirings.file import check_bandwidth as check_bandwidth
    from topoopt.topologies.wirings.file import read_wiring_file as read_wiring_file
    from topoopt.topologies.wirings.file import wiring_attributes as wiring_attributes
    from topoopt.topologies.wirings.file_model import EXPORTED as EXPORTED
    from topoopt.topologies.wirings.file_model import PortedLinks as PortedLinks
    from topoopt.topologies.wirings.file_model import ports_by_rings as ports_by_rings
    from topoopt.topologies.wirings.file_model import ports_in_order as ports_in_order
    from topoopt.topologies.wirings.ns3_topology import is_ns3_topology as is_ns3_topology
    from topoopt.topologies.wirings.search import FAMILY_NAMES as FAMILY_NAMES
    from topoopt.topologies.wirings.search import LIFTED as LIFTED
    from topoopt.topologies.wirings.search import OBJECTIVES as OBJECTIVES
    from topoopt.topologies.wirings.search import FoundWirings as FoundWirings
    from topoopt.topologies.wirings.search import WiringRequest as WiringRequest
    from topoopt.topologies.wirings.search import exists as exists
    from topoopt.topologies.wirings.search import known_judged as known_judged
    from topoopt.topologies.wirings.search import known_wirings as known_wirings
    from topoopt.topologies.wirings.search import quick_search_s as quick_search_s
    from topoopt.topologies.wirings.search import search_wirings as search_wirings
    from topoopt.topologies.wirings.switched_file import read_fabric_graph as read_fabric_graph
    from topoopt.topologies.wirings.switched_file import read_switched_graph as read_switched_graph

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
