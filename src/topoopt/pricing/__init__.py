"""Cost of a fabric: bill of materials and price."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.pricing.bill import Bill as Bill
    from topoopt.pricing.bill import BillLine as BillLine
    from topoopt.pricing.bill import RoomLayout as RoomLayout
    from topoopt.pricing.bill import bill_of_materials as bill_of_materials
    from topoopt.pricing.bill import lengths_to_middle_m as lengths_to_middle_m
    from topoopt.pricing.bill import mean_between_servers_m as mean_between_servers_m
    from topoopt.pricing.comparison import CostComparison as CostComparison
    from topoopt.pricing.comparison import TechnologyRow as TechnologyRow
    from topoopt.pricing.comparison import compare_costs as compare_costs
    from topoopt.pricing.comparison import port_prices_usd as port_prices_usd
    from topoopt.pricing.comparison import technology_rows as technology_rows
    from topoopt.pricing.cost_equivalence import PUBLISHED_OCS_OVER_PANEL as PUBLISHED_OCS_OVER_PANEL
    from topoopt.pricing.cost_equivalence import CostRatios as CostRatios
    from topoopt.pricing.cost_equivalence import EquivalentFatTree as EquivalentFatTree
    from topoopt.pricing.cost_equivalence import accounting_sweep as accounting_sweep
    from topoopt.pricing.cost_equivalence import cost_ratios as cost_ratios
    from topoopt.pricing.cost_equivalence import equivalent_fat_tree as equivalent_fat_tree
    from topoopt.pricing.cost_equivalence import (
        published_equivalent_bandwidth as published_equivalent_bandwidth,
    )
    from topoopt.pricing.fabric_options import ACCOUNTINGS as ACCOUNTINGS
    from topoopt.pricing.fabric_options import CUSTOM as CUSTOM
    from topoopt.pricing.fabric_options import FIBER_ON as FIBER_ON
    from topoopt.pricing.fabric_options import LINK_TECHNOLOGIES as LINK_TECHNOLOGIES
    from topoopt.pricing.fabric_options import PAPER as PAPER
    from topoopt.pricing.fabric_options import Accounting as Accounting
    from topoopt.pricing.fabric_options import FabricOptions as FabricOptions
    from topoopt.pricing.fabric_options import changed_accounting as changed_accounting
    from topoopt.pricing.fabric_options import find_accounting as find_accounting
    from topoopt.pricing.fabric_price import FabricPrice as FabricPrice
    from topoopt.pricing.fabric_price import check_fits_a_panel as check_fits_a_panel
    from topoopt.pricing.fabric_price import price_of_fabric as price_of_fabric
    from topoopt.pricing.fabric_price import realize as realize
    from topoopt.pricing.feasibility import WIRED_ONCE as WIRED_ONCE
    from topoopt.pricing.feasibility import FatTreeSize as FatTreeSize
    from topoopt.pricing.feasibility import Realization as Realization
    from topoopt.pricing.feasibility import Site as Site
    from topoopt.pricing.feasibility import fat_tree_size as fat_tree_size
    from topoopt.pricing.feasibility import of_technologies as of_technologies
    from topoopt.pricing.feasibility import realize_cables as realize_cables
    from topoopt.pricing.feasibility import realize_optical as realize_optical
    from topoopt.pricing.feasibility import realize_regions as realize_regions
    from topoopt.pricing.feasibility import realize_switches as realize_switches
    from topoopt.pricing.graph_switches import GraphPorts as GraphPorts
    from topoopt.pricing.graph_switches import parts_of_graph as parts_of_graph
    from topoopt.pricing.offer import Offer as Offer
    from topoopt.pricing.offer import PricedNetwork as PricedNetwork
    from topoopt.pricing.offer import Purchase as Purchase
    from topoopt.pricing.ownership import Iteration as Iteration
    from topoopt.pricing.ownership import NetworkPrice as NetworkPrice
    from topoopt.pricing.ownership import Ownership as Ownership
    from topoopt.pricing.ownership import OwnershipTerms as OwnershipTerms
    from topoopt.pricing.ownership import TrainingRun as TrainingRun
    from topoopt.pricing.ownership import beside as beside
    from topoopt.pricing.ownership import in_samples as in_samples
    from topoopt.pricing.ownership import network_price as network_price
    from topoopt.pricing.ownership import ownership as ownership
    from topoopt.pricing.part_counts import Buying as Buying
    from topoopt.pricing.part_counts import Cabling as Cabling
    from topoopt.pricing.part_counts import Counted as Counted
    from topoopt.pricing.part_counts import Interfaces as Interfaces
    from topoopt.pricing.part_counts import OpticalDevices as OpticalDevices
    from topoopt.pricing.part_counts import behind_both as behind_both
    from topoopt.pricing.part_counts import behind_circuit_switches as behind_circuit_switches
    from topoopt.pricing.part_counts import behind_panels as behind_panels
    from topoopt.pricing.part_counts import cabled as cabled
    from topoopt.pricing.part_counts import least_shards as least_shards
    from topoopt.pricing.part_counts import optical_devices as optical_devices
    from topoopt.pricing.part_counts import parts_by_port as parts_by_port
    from topoopt.pricing.part_counts import ports_in_use as ports_in_use
    from topoopt.pricing.part_counts import ports_needed as ports_needed
    from topoopt.pricing.part_counts import sharing_interfaces as sharing_interfaces
    from topoopt.pricing.part_counts import switched as switched
    from topoopt.pricing.price_lists import DEFAULT_PRICES as DEFAULT_PRICES
    from topoopt.pricing.price_lists import PRICE_TABLES as PRICE_TABLES
    from topoopt.pricing.price_lists import SPEED_ITEMS as SPEED_ITEMS
    from topoopt.pricing.price_lists import TYPICAL_POWER as TYPICAL_POWER
    from topoopt.pricing.price_lists import Item as Item
    from topoopt.pricing.price_lists import Part as Part
    from topoopt.pricing.price_lists import PartRow as PartRow
    from topoopt.pricing.price_lists import PartTable as PartTable
    from topoopt.pricing.price_lists import find_power as find_power
    from topoopt.pricing.price_lists import find_prices as find_prices
    from topoopt.pricing.price_lists import price_files as price_files
    from topoopt.pricing.pricing import HasPrice as HasPrice
    from topoopt.pricing.pricing import Pricing as Pricing
    from topoopt.pricing.pricing import cheaper_share as cheaper_share
    from topoopt.pricing.pricing import known_price as known_price
    from topoopt.pricing.pricing import network_bill as network_bill
    from topoopt.pricing.pricing import price_range_usd as price_range_usd
    from topoopt.pricing.pricing import pricing_of as pricing_of
    from topoopt.pricing.running_costs import HOURS_OF_A_YEAR as HOURS_OF_A_YEAR
    from topoopt.pricing.running_costs import RUNNING_WORDS as RUNNING_WORDS
    from topoopt.pricing.running_costs import Running as Running
    from topoopt.pricing.running_costs import ServerPrice as ServerPrice
    from topoopt.pricing.running_costs import UsualFigure as UsualFigure
    from topoopt.pricing.running_costs import server_price as server_price
    from topoopt.pricing.running_costs import usual_figures as usual_figures
    from topoopt.pricing.running_costs import usual_running as usual_running
    from topoopt.pricing.switch_choice import Plane as Plane
    from topoopt.pricing.switch_choice import SwitchTree as SwitchTree
    from topoopt.pricing.switch_choice import switch_tree as switch_tree

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
