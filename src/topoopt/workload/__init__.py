"""What is trained: operator graphs, the zoo of published models, operator times, importers."""

from topoopt.workload.graph import Operator as Operator
from topoopt.workload.graph import OperatorGraph as OperatorGraph
from topoopt.workload.graph import Weight as Weight
