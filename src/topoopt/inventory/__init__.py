"""Which server, interface, panel and panel port is which: names for what a wiring says in numbers."""

from topoopt.inventory.circuit import Circuit as Circuit
from topoopt.inventory.circuit import circuits as circuits
from topoopt.inventory.completed import completed as completed
from topoopt.inventory.inventory import PANEL_KINDS as PANEL_KINDS
from topoopt.inventory.inventory import Cable as Cable
from topoopt.inventory.inventory import Interface as Interface
from topoopt.inventory.inventory import Inventory as Inventory
from topoopt.inventory.inventory import Panel as Panel
from topoopt.inventory.inventory import Server as Server
