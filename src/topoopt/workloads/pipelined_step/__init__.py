"""An iteration in pipeline stages, by durations and bytes, and the order in which workers take its passes."""

from topoopt.workloads.pipelined_step.schedules import ORDERS as ORDERS
from topoopt.workloads.pipelined_step.schedules import Schedule as Schedule
from topoopt.workloads.pipelined_step.step import COLLECTIVE_KINDS as COLLECTIVE_KINDS
from topoopt.workloads.pipelined_step.step import PASSES as PASSES
from topoopt.workloads.pipelined_step.step import Chunk as Chunk
from topoopt.workloads.pipelined_step.step import Exchange as Exchange
from topoopt.workloads.pipelined_step.step import PipelinedStep as PipelinedStep
from topoopt.workloads.pipelined_step.step import Synchronization as Synchronization
