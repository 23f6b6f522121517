"""Requests before replicas: queues, pages, steps, transfers, failures, step by step but as fast as compiled code."""

from topoopt.serving.simulator.fleet import ROUTERS as ROUTERS
from topoopt.serving.simulator.fleet import Failure as Failure
from topoopt.serving.simulator.fleet import Fleet as Fleet
from topoopt.serving.simulator.fleet import Outage as Outage
from topoopt.serving.simulator.fleet import Replicas as Replicas
from topoopt.serving.simulator.fleet import RoleRule as RoleRule
from topoopt.serving.simulator.fleet import Transfer as Transfer
from topoopt.serving.simulator.fleet import TransferRoutes as TransferRoutes
from topoopt.serving.simulator.fleet import uniform_transfer as uniform_transfer
from topoopt.serving.simulator.result import ServingRun as ServingRun
from topoopt.serving.simulator.result import Spread as Spread
from topoopt.serving.simulator.run import simulate_serving as simulate_serving
