"""What is trained: operator graphs, the zoo of published models, operator times, importers."""

from topoopt.workload.compute_modes import COMPUTE_MODES as COMPUTE_MODES
from topoopt.workload.compute_modes import operator_timer as operator_timer
from topoopt.workload.graph import SPLITS as SPLITS
from topoopt.workload.graph import Operator as Operator
from topoopt.workload.graph import OperatorGraph as OperatorGraph
from topoopt.workload.graph import Weight as Weight
from topoopt.workload.imported_timer import ImportedTimer as ImportedTimer
from topoopt.workload.importers import read_flexnet_profile as read_flexnet_profile
from topoopt.workload.importers import read_operators as read_operators
from topoopt.workload.importers import read_traffic_matrix as read_traffic_matrix
from topoopt.workload.profile_table import Measurement as Measurement
from topoopt.workload.profile_table import ProfileTable as ProfileTable
from topoopt.workload.profile_table import published_tables as published_tables
from topoopt.workload.profile_timer import ProfileTimer as ProfileTimer
from topoopt.workload.profile_timer import published_profile_timer as published_profile_timer
from topoopt.workload.roofline_timer import Roofline as Roofline
from topoopt.workload.roofline_timer import RooflineTimer as RooflineTimer
from topoopt.workload.timer import OperatorTime as OperatorTime
from topoopt.workload.timer import OperatorTimer as OperatorTimer
from topoopt.workload.zoo import MODELS as MODELS
from topoopt.workload.zoo import ModelEntry as ModelEntry
from topoopt.workload.zoo import Variant as Variant
from topoopt.workload.zoo import load_model as load_model
from topoopt.workload.zoo import resolve_variant as resolve_variant
