"""Importers: operators, traffic matrices and profiles from the user's files."""

from topoopt.workload.importers.flexnet_profile import read_flexnet_profile as read_flexnet_profile
from topoopt.workload.importers.operators import read_operators as read_operators
from topoopt.workload.importers.traffic_matrix import read_traffic_matrix as read_traffic_matrix
