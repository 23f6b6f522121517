"""Strategy search, alternating optimization, stopping rules and bounds."""

from topoopt.search.baselines import BASELINES as BASELINES
from topoopt.search.baselines import DEFAULT_BASELINES as DEFAULT_BASELINES
from topoopt.search.baselines import BaselineRule as BaselineRule
from topoopt.search.baselines import baseline_fabric as baseline_fabric
from topoopt.search.baselines import search_baseline as search_baseline
from topoopt.search.caveats import caveats as caveats
from topoopt.search.caveats import time_sources as time_sources
from topoopt.search.compile_ahead import start_compiling_ahead as start_compiling_ahead
from topoopt.search.fidelities import Fidelities as Fidelities
from topoopt.search.fidelities import at_fidelities as at_fidelities
from topoopt.search.fidelities import fabric_of_baseline as fabric_of_baseline
from topoopt.search.options import MODES as MODES
from topoopt.search.options import PRESETS as PRESETS
from topoopt.search.options import SearchOptions as SearchOptions
from topoopt.search.options import preset as preset
from topoopt.search.planner import compare as compare
from topoopt.search.planner import make_plan as make_plan
from topoopt.search.start import fullest_server as fullest_server
from topoopt.search.start import starting_strategy as starting_strategy
from topoopt.search.worth import bounds as bounds
from topoopt.search.worth import outcome as outcome
from topoopt.search.worth import routing_gap as routing_gap
from topoopt.search.worth import simulated as simulated
from topoopt.search.worth import task_graph_of as task_graph_of
