"""Reinforcement learning after pre-training: rollout, training, and weights brought from one to the other."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.reinforcement.fabrics import FabricRow as FabricRow
    from topoopt.reinforcement.fabrics import Rewiring as Rewiring
    from topoopt.reinforcement.job import ALGORITHMS as ALGORITHMS
    from topoopt.reinforcement.job import Constants as Constants
    from topoopt.reinforcement.job import ResponseLengths as ResponseLengths
    from topoopt.reinforcement.job import RlJob as RlJob
    from topoopt.reinforcement.job import lognormal_lengths as lognormal_lengths
    from topoopt.reinforcement.job import read_lengths as read_lengths
    from topoopt.reinforcement.job import shipped_constants as shipped_constants
    from topoopt.reinforcement.runs import RlRuns as RlRuns
    from topoopt.reinforcement.runs import predict_rl_runs as predict_rl_runs
    from topoopt.reinforcement.step import RlStep as RlStep
    from topoopt.reinforcement.step import Span as Span
    from topoopt.reinforcement.step_plan import RlRequest as RlRequest
    from topoopt.reinforcement.step_plan import plan_step as plan_step
    from topoopt.reinforcement.step_plan import with_fabrics as with_fabrics

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
