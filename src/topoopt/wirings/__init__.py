"""The best wiring: families of direct wirings judged side by side, the search for better ones, and their files."""

from topoopt.wirings.answer import DIRECTED_WARNING as DIRECTED_WARNING
from topoopt.wirings.answer import WiringAnswer as WiringAnswer
from topoopt.wirings.existence import FAMILY_NAMES as FAMILY_NAMES
from topoopt.wirings.existence import exists as exists
from topoopt.wirings.exported_graph import EXPORTED as EXPORTED
from topoopt.wirings.file import read_wiring_file as read_wiring_file
from topoopt.wirings.file import wiring_attributes as wiring_attributes
from topoopt.wirings.judged import JudgedWiring as JudgedWiring
from topoopt.wirings.judged import judged as judged
from topoopt.wirings.known import known_judged as known_judged
from topoopt.wirings.known import known_wirings as known_wirings
from topoopt.wirings.ports import PortedLinks as PortedLinks
from topoopt.wirings.ports import ports_by_rings as ports_by_rings
from topoopt.wirings.ports import ports_in_order as ports_in_order
from topoopt.wirings.request import LIFTED as LIFTED
from topoopt.wirings.request import OBJECTIVES as OBJECTIVES
from topoopt.wirings.request import WiringRequest as WiringRequest
from topoopt.wirings.request import quick_search_s as quick_search_s
from topoopt.wirings.ring_count import MOST_LINKS_OF_RINGS as MOST_LINKS_OF_RINGS
from topoopt.wirings.search import FoundWirings as FoundWirings
from topoopt.wirings.search import search_wirings as search_wirings
