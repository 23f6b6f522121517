"""What is trained: operator graphs, the zoo of published models, operator times, importers."""

from topoopt.workload.compute_modes import COMPUTE_MODES as COMPUTE_MODES
from topoopt.workload.compute_modes import operator_timer as operator_timer
from topoopt.workload.device_profile import DeviceFacts as DeviceFacts
from topoopt.workload.device_profile import DeviceProfile as DeviceProfile
from topoopt.workload.device_profile import MeasuredOperator as MeasuredOperator
from topoopt.workload.device_profile import OperatorSignature as OperatorSignature
from topoopt.workload.device_profile import PartSize as PartSize
from topoopt.workload.device_profile import PartTime as PartTime
from topoopt.workload.device_profile import signature_of as signature_of
from topoopt.workload.device_timer import DeviceTimer as DeviceTimer
from topoopt.workload.graph import SPLITS as SPLITS
from topoopt.workload.graph import Operator as Operator
from topoopt.workload.graph import OperatorGraph as OperatorGraph
from topoopt.workload.graph import Weight as Weight
from topoopt.workload.imported_timer import ImportedTimer as ImportedTimer
from topoopt.workload.importers.device_profile import DeviceProfileModel as DeviceProfileModel
from topoopt.workload.importers.device_profile import (
    device_profile_from_mapping as device_profile_from_mapping,
)
from topoopt.workload.importers.device_profile import device_profile_of as device_profile_of
from topoopt.workload.importers.device_profile import device_profile_schema as device_profile_schema
from topoopt.workload.importers.device_profile import device_profile_to_mapping as device_profile_to_mapping
from topoopt.workload.importers.device_profile import is_device_profile as is_device_profile
from topoopt.workload.importers.device_profile import read_device_profile as read_device_profile
from topoopt.workload.importers.flexnet_profile import read_flexnet_profile as read_flexnet_profile
from topoopt.workload.importers.operators import read_operators as read_operators
from topoopt.workload.importers.traffic_matrix import read_traffic_matrix as read_traffic_matrix
from topoopt.workload.profile_table import Measurement as Measurement
from topoopt.workload.profile_table import ProfileTable as ProfileTable
from topoopt.workload.profile_table import published_tables as published_tables
from topoopt.workload.profile_timer import ProfileTimer as ProfileTimer
from topoopt.workload.profile_timer import published_profile_timer as published_profile_timer
from topoopt.workload.programs.read import read_program as read_program
from topoopt.workload.roofline_timer import Roofline as Roofline
from topoopt.workload.roofline_timer import RooflineTimer as RooflineTimer
from topoopt.workload.timer import OperatorTime as OperatorTime
from topoopt.workload.timer import OperatorTimer as OperatorTimer
from topoopt.workload.zoo.hyperparameters import with_overrides as with_overrides
from topoopt.workload.zoo.listed import ListedModel as ListedModel
from topoopt.workload.zoo.listed import ListedVariant as ListedVariant
from topoopt.workload.zoo.listed import listed_model as listed_model
from topoopt.workload.zoo.model_entry import ModelEntry as ModelEntry
from topoopt.workload.zoo.model_entry import Variant as Variant
from topoopt.workload.zoo.models import MODELS as MODELS
from topoopt.workload.zoo.models import load_model as load_model
from topoopt.workload.zoo.models import resolve_variant as resolve_variant
