"""FlexNet ``.fbuf`` task graphs, in and out."""

from topoopt.simulate.fbuf.from_task_graph import flexnet_graph as flexnet_graph
from topoopt.simulate.fbuf.graph import FlexNetGraph as FlexNetGraph
from topoopt.simulate.fbuf.read import parse_fbuf as parse_fbuf
from topoopt.simulate.fbuf.read import read_fbuf as read_fbuf
from topoopt.simulate.fbuf.to_fabric import flexnet_fabric as flexnet_fabric
from topoopt.simulate.fbuf.to_task_graph import flexnet_task_graph as flexnet_task_graph
from topoopt.simulate.fbuf.write import fbuf_bytes as fbuf_bytes
from topoopt.simulate.fbuf.write import write_fbuf as write_fbuf
