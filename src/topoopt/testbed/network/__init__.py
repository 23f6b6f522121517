"""A plan's network on this machine: namespaces, cables, bandwidths and routes of the kernel."""

from topoopt.testbed.network.capacity import check_capacity as check_capacity
from topoopt.testbed.network.construction import remove as remove
from topoopt.testbed.network.counting import CounterReading as CounterReading
from topoopt.testbed.network.counting import counting as counting
from topoopt.testbed.network.layout import Cable as Cable
from topoopt.testbed.network.layout import Layout as Layout
from topoopt.testbed.network.layout import Port as Port
from topoopt.testbed.network.layout import ServerRoute as ServerRoute
from topoopt.testbed.network.layout import direct_layout as direct_layout
from topoopt.testbed.network.layout import identity as identity
from topoopt.testbed.network.layout import switch_layout as switch_layout
from topoopt.testbed.network.probe import check_machine as check_machine
from topoopt.testbed.network.single_paths import single_paths as single_paths
from topoopt.testbed.network.state import TestbedState as TestbedState
from topoopt.testbed.network.state import find_state as find_state
from topoopt.testbed.network.state import known_states as known_states
from topoopt.testbed.network.testbed import PortBytes as PortBytes
from topoopt.testbed.network.testbed import Testbed as Testbed
from topoopt.testbed.network.testbed import build as build
