"""Chakra's execution traces: read, written, and turned into task graphs and back."""

from topoopt.simulate.chakra.from_task_graph import ChakraFiles as ChakraFiles
from topoopt.simulate.chakra.from_task_graph import chakra_files as chakra_files
from topoopt.simulate.chakra.read import is_chakra as is_chakra
from topoopt.simulate.chakra.read import parse_chakra as parse_chakra
from topoopt.simulate.chakra.read import read_chakra as read_chakra
from topoopt.simulate.chakra.schema import COLLECTIVE_WAY as COLLECTIVE_WAY
from topoopt.simulate.chakra.to_recording import chakra_recording as chakra_recording
from topoopt.simulate.chakra.to_task_graph import chakra_task_graph as chakra_task_graph
from topoopt.simulate.chakra.trace import ChakraNode as ChakraNode
from topoopt.simulate.chakra.trace import ChakraTrace as ChakraTrace
from topoopt.simulate.chakra.trace import ChakraTraces as ChakraTraces
