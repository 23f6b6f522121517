"""FlexNet ``.fbuf`` task graphs, in and out."""

from topoopt.simulation.flexnet.fabric import flexnet_fabric as flexnet_fabric
from topoopt.simulation.flexnet.graph import FlexNetGraph as FlexNetGraph
from topoopt.simulation.flexnet.read import parse_fbuf as parse_fbuf
from topoopt.simulation.flexnet.read import read_fbuf as read_fbuf
from topoopt.simulation.flexnet.task_graph import flexnet_graph as flexnet_graph
from topoopt.simulation.flexnet.task_graph import flexnet_task_graph as flexnet_task_graph
from topoopt.simulation.flexnet.write import fbuf_bytes as fbuf_bytes
from topoopt.simulation.flexnet.write import write_fbuf as write_fbuf
