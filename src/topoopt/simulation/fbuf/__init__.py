"""FlexNet ``.fbuf`` task graphs, in and out."""

from topoopt.simulation.fbuf.from_task_graph import flexnet_graph as flexnet_graph
from topoopt.simulation.fbuf.graph import FlexNetGraph as FlexNetGraph
from topoopt.simulation.fbuf.read import parse_fbuf as parse_fbuf
from topoopt.simulation.fbuf.read import read_fbuf as read_fbuf
from topoopt.simulation.fbuf.to_fabric import flexnet_fabric as flexnet_fabric
from topoopt.simulation.fbuf.to_task_graph import flexnet_task_graph as flexnet_task_graph
from topoopt.simulation.fbuf.write import fbuf_bytes as fbuf_bytes
from topoopt.simulation.fbuf.write import write_fbuf as write_fbuf
