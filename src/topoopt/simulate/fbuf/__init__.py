"""FlexNet ``.fbuf`` task graphs, in and out."""

from topoopt.simulate.fbuf.graph import FlexNetGraph as FlexNetGraph
from topoopt.simulate.fbuf.read import parse_fbuf as parse_fbuf
from topoopt.simulate.fbuf.read import read_fbuf as read_fbuf
from topoopt.simulate.fbuf.to_fabric import to_fabric as to_fabric
from topoopt.simulate.fbuf.to_task_graph import to_task_graph as to_task_graph
