"""Models that are served: requests, deployments, caches, step times, queues, traffic, calibration."""

from topoopt.serving.deployment import MODES as MODES
from topoopt.serving.deployment import Deployment as Deployment
from topoopt.serving.deployment import EngineSettings as EngineSettings
from topoopt.serving.deployment import Parallelism as Parallelism
from topoopt.serving.deployment import Pool as Pool
from topoopt.serving.step_table import StepTable as StepTable
