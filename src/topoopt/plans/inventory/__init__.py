"""Names of servers, interfaces, panels and panel ports for the numbers of a wiring."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.plans.inventory.default_names import completed as completed
    from topoopt.plans.inventory.file import GivenInventory as GivenInventory
    from topoopt.plans.inventory.file import fitting as fitting
    from topoopt.plans.inventory.file import given_inventory as given_inventory
    from topoopt.plans.inventory.file import inventory_mapping as inventory_mapping
    from topoopt.plans.inventory.file import inventory_text as inventory_text
    from topoopt.plans.inventory.file import read_inventory as read_inventory
    from topoopt.plans.inventory.inventory import PANEL_KINDS as PANEL_KINDS
    from topoopt.plans.inventory.inventory import Cable as Cable
    from topoopt.plans.inventory.inventory import Circuit as Circuit
    from topoopt.plans.inventory.inventory import Interface as Interface
    from topoopt.plans.inventory.inventory import Inventory as Inventory
    from topoopt.plans.inventory.inventory import Panel as Panel
    from topoopt.plans.inventory.inventory import Server as Server
    from topoopt.plans.inventory.inventory import circuits as circuits
    from topoopt.plans.inventory.moves import Move as Move
    from topoopt.plans.inventory.moves import RewiringAnswer as RewiringAnswer
    from topoopt.plans.inventory.moves import moves as moves
    from topoopt.plans.inventory.moves import named_patch_rows as named_patch_rows

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
