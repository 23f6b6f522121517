"""The inventory that names everything in the other files, completed by the rule: to be edited and given back."""

from topoopt.export.deployment import Deployment
from topoopt.export.format import Contents
from topoopt.inventory import inventory_text


def inventory_file(deployment: Deployment) -> Contents:
    """Return the inventory as YAML; read again, it is the same inventory."""
    return {"inventory.yaml": inventory_text(deployment.inventory)}
