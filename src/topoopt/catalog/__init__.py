"""Hardware catalogue (accelerators, NICs, optics, switches) and the cluster specification."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.catalog.accelerator import BYTES_PER_ELEMENT as BYTES_PER_ELEMENT
    from topoopt.catalog.accelerator import DEFAULT_ACCELERATOR as DEFAULT_ACCELERATOR
    from topoopt.catalog.accelerator import EFFICIENCY_KINDS as EFFICIENCY_KINDS
    from topoopt.catalog.accelerator import PRECISIONS as PRECISIONS
    from topoopt.catalog.accelerator import Accelerator as Accelerator
    from topoopt.catalog.accelerator import AcceleratorFile as AcceleratorFile
    from topoopt.catalog.accelerator import AcceleratorServer as AcceleratorServer
    from topoopt.catalog.accelerator import Efficiency as Efficiency
    from topoopt.catalog.accelerator import EfficiencyRow as EfficiencyRow
    from topoopt.catalog.accelerator import HostLink as HostLink
    from topoopt.catalog.accelerator import Relative as Relative
    from topoopt.catalog.accelerator import accelerator_file as accelerator_file
    from topoopt.catalog.accelerator import accelerator_files as accelerator_files
    from topoopt.catalog.accelerator import accelerator_servers as accelerator_servers
    from topoopt.catalog.accelerator import accelerators as accelerators
    from topoopt.catalog.accelerator import efficiency_kind as efficiency_kind
    from topoopt.catalog.accelerator import efficiency_table as efficiency_table
    from topoopt.catalog.accelerator import find_accelerator as find_accelerator
    from topoopt.catalog.accelerator import host_bytes_per_s as host_bytes_per_s
    from topoopt.catalog.accelerator import roofline_efficiency as roofline_efficiency
    from topoopt.catalog.accelerator import server_with as server_with
    from topoopt.catalog.catalogue import CATALOGUES as CATALOGUES
    from topoopt.catalog.catalogue import CatalogueRow as CatalogueRow
    from topoopt.catalog.catalogue import HardwareTables as HardwareTables
    from topoopt.catalog.catalogue import catalogue as catalogue
    from topoopt.catalog.catalogue import hardware_tables as hardware_tables
    from topoopt.catalog.cluster import LINK_MODES as LINK_MODES
    from topoopt.catalog.cluster import MOST_INTERFACES as MOST_INTERFACES
    from topoopt.catalog.cluster import ClusterSpec as ClusterSpec
    from topoopt.catalog.cluster import reference_interfaces as reference_interfaces
    from topoopt.catalog.comparison import NetworkRow as NetworkRow
    from topoopt.catalog.comparison import Skipped as Skipped
    from topoopt.catalog.comparison import Table as Table
    from topoopt.catalog.comparison import compare as compare
    from topoopt.catalog.networks import DEFAULT_LATENCY_S as DEFAULT_LATENCY_S
    from topoopt.catalog.networks import IDEAL_SWITCH as IDEAL_SWITCH
    from topoopt.catalog.networks import NETWORKS as NETWORKS
    from topoopt.catalog.networks import OWN as OWN
    from topoopt.catalog.networks import PUBLISHED_IDEAL_OVER_TOPOOPT as PUBLISHED_IDEAL_OVER_TOPOOPT
    from topoopt.catalog.networks import Network as Network
    from topoopt.catalog.networks import Sizing as Sizing
    from topoopt.catalog.networks import check_networks as check_networks
    from topoopt.catalog.networks import compared_by as compared_by
    from topoopt.catalog.networks import labeled as labeled
    from topoopt.catalog.networks import networks_of as networks_of
    from topoopt.catalog.networks import sizings_of as sizings_of
    from topoopt.catalog.parts import CopperCable as CopperCable
    from topoopt.catalog.parts import Nic as Nic
    from topoopt.catalog.parts import OpticalChoice as OpticalChoice
    from topoopt.catalog.parts import OpticalSwitch as OpticalSwitch
    from topoopt.catalog.parts import PacketSwitch as PacketSwitch
    from topoopt.catalog.parts import Transceiver as Transceiver
    from topoopt.catalog.parts import break_even_bytes as break_even_bytes
    from topoopt.catalog.parts import break_even_interval_s as break_even_interval_s
    from topoopt.catalog.parts import choose_optics as choose_optics
    from topoopt.catalog.parts import copper_cables as copper_cables
    from topoopt.catalog.parts import copper_reach as copper_reach
    from topoopt.catalog.parts import find_optical_switch as find_optical_switch
    from topoopt.catalog.parts import nics as nics
    from topoopt.catalog.parts import optical_switches as optical_switches
    from topoopt.catalog.parts import packet_switches as packet_switches
    from topoopt.catalog.parts import transceivers as transceivers

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
