"""Reinforcement learning after pre-training: rollout, training, and weights brought from one to the other."""

from topoopt.reinforcement.constants import Constants as Constants
from topoopt.reinforcement.constants import shipped_constants as shipped_constants
from topoopt.reinforcement.fabrics import FabricRow as FabricRow
from topoopt.reinforcement.job import ALGORITHMS as ALGORITHMS
from topoopt.reinforcement.job import POLICIES as POLICIES
from topoopt.reinforcement.job import REWARDS as REWARDS
from topoopt.reinforcement.job import RlJob as RlJob
from topoopt.reinforcement.lengths import ResponseLengths as ResponseLengths
from topoopt.reinforcement.lengths import lognormal_lengths as lognormal_lengths
from topoopt.reinforcement.lengths import read_lengths as read_lengths
from topoopt.reinforcement.plan import RlRequest as RlRequest
from topoopt.reinforcement.plan import plan_step as plan_step
from topoopt.reinforcement.plan import with_fabrics as with_fabrics
from topoopt.reinforcement.policies import Span as Span
from topoopt.reinforcement.runs import RlRuns as RlRuns
from topoopt.reinforcement.runs import RunsError as RunsError
from topoopt.reinforcement.runs import predict_rl_runs as predict_rl_runs
from topoopt.reinforcement.step import RlStep as RlStep
from topoopt.reinforcement.wirings import Rewiring as Rewiring
