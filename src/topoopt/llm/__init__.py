"""Transformer training jobs: configurations, communication, memory, step times in closed form, calibration."""

from topoopt.llm.configuration import RECOMPUTATIONS as RECOMPUTATIONS
from topoopt.llm.configuration import Configuration as Configuration
from topoopt.llm.configuration_table import ConfigurationTable as ConfigurationTable
from topoopt.llm.configuration_table import configuration_table as configuration_table
from topoopt.llm.system import System as System
from topoopt.llm.system import system_of as system_of
