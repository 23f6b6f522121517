"""What a fabric costs: bill of materials and price."""

from topoopt.cost.accounting import ACCOUNTINGS as ACCOUNTINGS
from topoopt.cost.accounting import CUSTOM as CUSTOM
from topoopt.cost.accounting import FIBER_ON as FIBER_ON
from topoopt.cost.accounting import Accounting as Accounting
from topoopt.cost.accounting import find_accounting as find_accounting
from topoopt.cost.accounting_sweep import AccountingRow as AccountingRow
from topoopt.cost.accounting_sweep import accounting_sweep as accounting_sweep
from topoopt.cost.bill import PRICED_FABRICS as PRICED_FABRICS
from topoopt.cost.bill import Bill as Bill
from topoopt.cost.bill import BillLine as BillLine
from topoopt.cost.bill import bill_of_materials as bill_of_materials
from topoopt.cost.equivalent import PUBLISHED_RATIO as PUBLISHED_RATIO
from topoopt.cost.equivalent import EquivalentFatTree as EquivalentFatTree
from topoopt.cost.equivalent import cost_equivalent_bandwidth as cost_equivalent_bandwidth
from topoopt.cost.equivalent import equivalent_fat_tree as equivalent_fat_tree
from topoopt.cost.equivalent import published_equivalent_bandwidth as published_equivalent_bandwidth
from topoopt.cost.prices import PRICE_TABLES as PRICE_TABLES
from topoopt.cost.prices import Item as Item
from topoopt.cost.prices import PriceRow as PriceRow
from topoopt.cost.prices import PriceTable as PriceTable
from topoopt.cost.prices import find_prices as find_prices
from topoopt.cost.prices import read_prices as read_prices
from topoopt.cost.ratios import PUBLISHED_IDEAL_OVER_TOPOOPT as PUBLISHED_IDEAL_OVER_TOPOOPT
from topoopt.cost.ratios import PUBLISHED_OCS_OVER_PANEL as PUBLISHED_OCS_OVER_PANEL
from topoopt.cost.ratios import CostRatios as CostRatios
from topoopt.cost.ratios import cost_ratios as cost_ratios
