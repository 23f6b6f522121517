"""Training workloads: operator graphs, the zoo of published models, operator times and importers."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.workloads.device_profile import DeviceFacts as DeviceFacts
    from topoopt.workloads.device_profile import DeviceProfile as DeviceProfile
    from topoopt.workloads.device_profile import DeviceProfileModel as DeviceProfileModel
    from topoopt.workloads.device_profile import DeviceTimer as DeviceTimer
    from topoopt.workloads.device_profile import MeasuredOperator as MeasuredOperator
    from topoopt.workloads.device_profile import OperatorSignature as OperatorSignature
    from topoopt.workloads.device_profile import PartSize as PartSize
    from topoopt.workloads.device_profile import PartTime as PartTime
    from topoopt.workloads.device_profile import device_profile_from_mapping as device_profile_from_mapping
    from topoopt.workloads.device_profile import device_profile_of as device_profile_of
    from topoopt.workloads.device_profile import device_profile_to_mapping as device_profile_to_mapping
    from topoopt.workloads.device_profile import is_device_profile as is_device_profile
    from topoopt.workloads.device_profile import read_device_profile as read_device_profile
    from topoopt.workloads.device_profile import signature_of as signature_of
    from topoopt.workloads.operator_file import read_operators as read_operators
    from topoopt.workloads.operator_graph import Operator as Operator
    from topoopt.workloads.operator_graph import OperatorGraph as OperatorGraph
    from topoopt.workloads.operator_graph import Weight as Weight
    from topoopt.workloads.operator_timer import ImportedTimer as ImportedTimer
    from topoopt.workloads.operator_timer import OperatorTime as OperatorTime
    from topoopt.workloads.operator_timer import OperatorTimer as OperatorTimer
    from topoopt.workloads.profile_timer import Measurement as Measurement
    from topoopt.workloads.profile_timer import ProfileTable as ProfileTable
    from topoopt.workloads.profile_timer import ProfileTimer as ProfileTimer
    from topoopt.workloads.profile_timer import published_profile_timer as published_profile_timer
    from topoopt.workloads.profile_timer import published_tables as published_tables
    from topoopt.workloads.profile_timer import read_flexnet_profile as read_flexnet_profile
    from topoopt.workloads.programs.read import read_program as read_program
    from topoopt.workloads.ring_law import RING_PASSES as RING_PASSES
    from topoopt.workloads.ring_law import bus_bandwidth_factor as bus_bandwidth_factor
    from topoopt.workloads.ring_law import ring_rounds as ring_rounds
    from topoopt.workloads.roofline import COMPUTE_MODES as COMPUTE_MODES
    from topoopt.workloads.roofline import Roofline as Roofline
    from topoopt.workloads.roofline import RooflineTimer as RooflineTimer
    from topoopt.workloads.roofline import operator_timer as operator_timer
    from topoopt.workloads.strategy import (
        OPTIMIZER_BYTES_PER_PARAMETER_BYTE as OPTIMIZER_BYTES_PER_PARAMETER_BYTE,
    )
    from topoopt.workloads.strategy import MemoryUse as MemoryUse
    from topoopt.workloads.strategy import OperatorSplit as OperatorSplit
    from topoopt.workloads.strategy import ParallelStrategy as ParallelStrategy
    from topoopt.workloads.strategy import data_parallel as data_parallel
    from topoopt.workloads.strategy import edge_transfers as edge_transfers
    from topoopt.workloads.strategy import extract_traffic as extract_traffic
    from topoopt.workloads.strategy import memory_use as memory_use
    from topoopt.workloads.strategy import part_samples as part_samples
    from topoopt.workloads.strategy import weight_shards as weight_shards
    from topoopt.workloads.traffic import AllReduceGroup as AllReduceGroup
    from topoopt.workloads.traffic import AllToAllGroup as AllToAllGroup
    from topoopt.workloads.traffic import Traffic as Traffic
    from topoopt.workloads.traffic import Transfers as Transfers
    from topoopt.workloads.traffic import merged_traffic as merged_traffic
    from topoopt.workloads.traffic import no_transfers as no_transfers
    from topoopt.workloads.traffic import read_traffic_matrix as read_traffic_matrix
    from topoopt.workloads.traffic import traffic_from_matrix as traffic_from_matrix
    from topoopt.workloads.traffic import with_pairs as with_pairs
    from topoopt.workloads.zoo.model_entry import ModelEntry as ModelEntry
    from topoopt.workloads.zoo.model_entry import Variant as Variant
    from topoopt.workloads.zoo.model_entry import with_overrides as with_overrides
    from topoopt.workloads.zoo.models import MODELS as MODELS
    from topoopt.workloads.zoo.models import ListedModel as ListedModel
    from topoopt.workloads.zoo.models import ListedVariant as ListedVariant
    from topoopt.workloads.zoo.models import listed_model as listed_model
    from topoopt.workloads.zoo.models import load_model as load_model
    from topoopt.workloads.zoo.models import resolve_variant as resolve_variant

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
