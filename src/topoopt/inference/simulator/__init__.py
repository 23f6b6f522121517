"""Requests before replicas: queues, pages, steps, transfers, failures, step by step but as fast as compiled code."""

from topoopt.inference.simulator.fleet import ROUTERS as ROUTERS
from topoopt.inference.simulator.fleet import Failure as Failure
from topoopt.inference.simulator.fleet import Fleet as Fleet
from topoopt.inference.simulator.fleet import Outage as Outage
from topoopt.inference.simulator.fleet import Replicas as Replicas
from topoopt.inference.simulator.fleet import RoleRule as RoleRule
from topoopt.inference.simulator.fleet import Transfer as Transfer
from topoopt.inference.simulator.fleet import TransferRoutes as TransferRoutes
from topoopt.inference.simulator.fleet import uniform_transfer as uniform_transfer
from topoopt.inference.simulator.run import ServingRun as ServingRun
from topoopt.inference.simulator.run import Spread as Spread
from topoopt.inference.simulator.run import simulate_serving as simulate_serving
