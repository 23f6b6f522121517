"""A plan's network on this machine: namespaces, cables, bandwidths and routes of the kernel."""

from topoopt.plugins.testbeds.network.capacity import capable_scale as capable_scale
from topoopt.plugins.testbeds.network.capacity import check_speed as check_speed
from topoopt.plugins.testbeds.network.construction import TestbedState as TestbedState
from topoopt.plugins.testbeds.network.construction import check_name as check_name
from topoopt.plugins.testbeds.network.construction import find_state as find_state
from topoopt.plugins.testbeds.network.construction import known_states as known_states
from topoopt.plugins.testbeds.network.construction import remove as remove
from topoopt.plugins.testbeds.network.layout import Cable as Cable
from topoopt.plugins.testbeds.network.layout import Layout as Layout
from topoopt.plugins.testbeds.network.layout import Port as Port
from topoopt.plugins.testbeds.network.layout import ServerRoute as ServerRoute
from topoopt.plugins.testbeds.network.layout import direct_layout as direct_layout
from topoopt.plugins.testbeds.network.layout import identity as identity
from topoopt.plugins.testbeds.network.layout import single_paths as single_paths
from topoopt.plugins.testbeds.network.layout import switch_layout as switch_layout
from topoopt.plugins.testbeds.network.testbed import CounterReading as CounterReading
from topoopt.plugins.testbeds.network.testbed import PortBytes as PortBytes
from topoopt.plugins.testbeds.network.testbed import Testbed as Testbed
from topoopt.plugins.testbeds.network.testbed import build as build
from topoopt.plugins.testbeds.network.testbed import check_machine as check_machine
from topoopt.plugins.testbeds.network.testbed import counting as counting
