"""An inventory, however it is given: as the noun, or as the name of a file."""

import os

from topoopt.plans.inventory import GivenInventory, Inventory, given_inventory, read_inventory

InventorySource = Inventory | str | os.PathLike[str]
"""An inventory, or the file of one."""


def inventory_of(source: InventorySource | None) -> GivenInventory:
    """Return what is given of an inventory; nothing for nothing.

    Raises
    ------
    InvalidInput
        If the file is no inventory, with the line.
    """
    if source is None:
        return GivenInventory()
    return given_inventory(source) if isinstance(source, Inventory) else read_inventory(source)
