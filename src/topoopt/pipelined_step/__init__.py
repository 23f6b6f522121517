"""An iteration in pipeline stages, by durations and bytes, and the order in which workers take its passes."""

from topoopt.pipelined_step.groups import COLLECTIVE_KINDS as COLLECTIVE_KINDS
from topoopt.pipelined_step.groups import MOMENTS as MOMENTS
from topoopt.pipelined_step.groups import PASSES as PASSES
from topoopt.pipelined_step.groups import SWEEPS as SWEEPS
from topoopt.pipelined_step.groups import Exchange as Exchange
from topoopt.pipelined_step.groups import Synchronization as Synchronization
from topoopt.pipelined_step.orders import ORDERS as ORDERS
from topoopt.pipelined_step.schedule import Schedule as Schedule
from topoopt.pipelined_step.step import Chunk as Chunk
from topoopt.pipelined_step.step import PipelinedStep as PipelinedStep
