"""Chakra's execution traces: read, written, and turned into task graphs and back."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.simulation.chakra.from_task_graph import ChakraFiles as ChakraFiles
    from topoopt.simulation.chakra.from_task_graph import chakra_files as chakra_files
    from topoopt.simulation.chakra.read import chakra_recording as chakra_recording
    from topoopt.simulation.chakra.read import is_chakra as is_chakra
    from topoopt.simulation.chakra.read import parse_chakra as parse_chakra
    from topoopt.simulation.chakra.read import read_chakra as read_chakra
    from topoopt.simulation.chakra.read import workload_traces as workload_traces
    from topoopt.simulation.chakra.to_task_graph import chakra_task_graph as chakra_task_graph
    from topoopt.simulation.chakra.trace import COLLECTIVE_WAY as COLLECTIVE_WAY
    from topoopt.simulation.chakra.trace import ChakraNode as ChakraNode
    from topoopt.simulation.chakra.trace import ChakraTrace as ChakraTrace
    from topoopt.simulation.chakra.trace import ChakraTraces as ChakraTraces

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
