"""Transformer training jobs: configurations, communication, memory, step times in closed form, calibration."""

from topoopt.llm.calibration import PARAMETERS as PARAMETERS
from topoopt.llm.calibration import Calibration as Calibration
from topoopt.llm.check import check_configuration as check_configuration
from topoopt.llm.chunk_times import chunk_times as chunk_times
from topoopt.llm.configuration import RECOMPUTATIONS as RECOMPUTATIONS
from topoopt.llm.configuration import Configuration as Configuration
from topoopt.llm.configuration_table import ConfigurationTable as ConfigurationTable
from topoopt.llm.configuration_table import configuration_table as configuration_table
from topoopt.llm.expert_load_course import loads_at as loads_at
from topoopt.llm.expert_load_course import loads_over_iterations as loads_over_iterations
from topoopt.llm.expert_load_file import find_loads as find_loads
from topoopt.llm.expert_load_file import read_loads as read_loads
from topoopt.llm.expert_loads import ExpertLoads as ExpertLoads
from topoopt.llm.expert_loads import expert_layers as expert_layers
from topoopt.llm.expert_loads import uniform_loads as uniform_loads
from topoopt.llm.expert_loads import zipf_loads as zipf_loads
from topoopt.llm.step_times import ChunkTimes as ChunkTimes
from topoopt.llm.step_times import StepTimes as StepTimes
from topoopt.llm.system import System as System
from topoopt.llm.system import system_of as system_of
from topoopt.llm.token_matrix import rank_shares as rank_shares
from topoopt.llm.token_matrix import taken_shares as taken_shares
from topoopt.llm.token_matrix import token_matrix as token_matrix
