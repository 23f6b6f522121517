"""Which server, interface, panel and panel port is which: names for what a wiring says in numbers."""

from topoopt.inventory.circuit import Circuit as Circuit
from topoopt.inventory.circuit import circuits as circuits
from topoopt.inventory.completed import completed as completed
from topoopt.inventory.file import GivenInventory as GivenInventory
from topoopt.inventory.file import given_inventory as given_inventory
from topoopt.inventory.file import inventory_mapping as inventory_mapping
from topoopt.inventory.file import inventory_text as inventory_text
from topoopt.inventory.file import read_inventory as read_inventory
from topoopt.inventory.file_model import inventory_schema as inventory_schema
from topoopt.inventory.fitting import fitting as fitting
from topoopt.inventory.inventory import PANEL_KINDS as PANEL_KINDS
from topoopt.inventory.inventory import Cable as Cable
from topoopt.inventory.inventory import Interface as Interface
from topoopt.inventory.inventory import Inventory as Inventory
from topoopt.inventory.inventory import Panel as Panel
from topoopt.inventory.inventory import Server as Server
from topoopt.inventory.moves import Move as Move
from topoopt.inventory.moves import moves as moves
from topoopt.inventory.rewiring_answer import NAME_COLUMNS as NAME_COLUMNS
from topoopt.inventory.rewiring_answer import RewiringAnswer as RewiringAnswer
from topoopt.inventory.rewiring_answer import named_patch_rows as named_patch_rows
