"""From a task graph and a fabric to an iteration time, at several fidelities."""

from topoopt.simulate.build_task_graph import build_task_graph as build_task_graph
from topoopt.simulate.compiled import is_compiled as is_compiled
from topoopt.simulate.max_min import max_min_rates as max_min_rates
from topoopt.simulate.options import SimulationOptions as SimulationOptions
from topoopt.simulate.result import SimResult as SimResult
from topoopt.simulate.result import steady_state_time_s as steady_state_time_s
from topoopt.simulate.schedule_tasks import schedule_task_graph as schedule_task_graph
from topoopt.simulate.table import SIMULATORS as SIMULATORS
from topoopt.simulate.table import Simulator as Simulator
from topoopt.simulate.table import simulate as simulate
from topoopt.simulate.task_graph import COLLECTIVE as COLLECTIVE
from topoopt.simulate.task_graph import COLLECTIVES as COLLECTIVES
from topoopt.simulate.task_graph import COMPUTE as COMPUTE
from topoopt.simulate.task_graph import KINDS as KINDS
from topoopt.simulate.task_graph import PHASES as PHASES
from topoopt.simulate.task_graph import TRANSFER as TRANSFER
from topoopt.simulate.task_graph import TaskGraph as TaskGraph
from topoopt.simulate.task_graph import TaskRows as TaskRows
from topoopt.simulate.task_graph import find_cycle as find_cycle
from topoopt.simulate.task_graph import task_graph_from_edges as task_graph_from_edges
from topoopt.simulate.timeline import TimelineRow as TimelineRow
from topoopt.simulate.timeline import timeline as timeline
