"""Importers: operators, traffic matrices and profiles from the user's files."""

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
