"""The inventory that names everything in the other files, completed by the rule: to be edited and given back."""

from topoopt.plans.inventory import inventory_text
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents


def inventory_file(deployment: Deployment) -> Contents:
    """Return the inventory as YAML; read again, it is the same inventory."""
    return {"inventory.yaml": inventory_text(deployment.inventory)}
