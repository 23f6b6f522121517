"""What a fabric costs, and what is paid for an hour, a token or a sample."""

from dataclasses import replace

from topoopt.cost import PartTable, bill_of_materials
from topoopt.errors import TopoOptError
from topoopt.hardware import ClusterSpec
from topoopt.studio.estimate import FabricEstimate
from topoopt.studio.fabric_rules import FabricRule
from topoopt.studio.question import Question


def worth_of(
    row: FabricEstimate,
    rule: FabricRule,
    cluster: ClusterSpec,
    prices: PartTable,
    question: Question,
    units: float,
) -> FabricEstimate:
    """Return the row with its price; what the list does not have stays unknown, and the row says why."""
    try:
        bill = bill_of_materials(rule.fabric, cluster.servers, rule.interfaces, rule.bandwidth_bps, prices)
    except TopoOptError as error:
        return replace(row, note=str(error))
    return replace(row, network_usd=bill.cost_usd, power_w=bill.power_w, note=bill.note)
