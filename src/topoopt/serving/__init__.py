"""Models that are served: requests, deployments, caches, step times, queues, traffic, calibration."""

from topoopt.serving.deployment import MODES as MODES
from topoopt.serving.deployment import Deployment as Deployment
from topoopt.serving.deployment import EngineSettings as EngineSettings
from topoopt.serving.deployment import Parallelism as Parallelism
from topoopt.serving.deployment import Pool as Pool
from topoopt.serving.kv_cache import CacheCapacity as CacheCapacity
from topoopt.serving.kv_cache import cache_bytes_per_token as cache_bytes_per_token
from topoopt.serving.kv_cache import cache_capacity as cache_capacity
from topoopt.serving.kv_cache import cache_copies as cache_copies
from topoopt.serving.kv_cache import request_cache_bytes as request_cache_bytes
from topoopt.serving.step.table import step_table as step_table
from topoopt.serving.step_table import StepTable as StepTable
from topoopt.serving.weights import accelerator_weight_bytes as accelerator_weight_bytes
