"""The noun RlStep: one step of reinforcement learning, its phases, pools, weights on their way, and what it costs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.door import shows_itself
from topoopt.base.frame import Frame, frame
from topoopt.catalog import find_accelerator
from topoopt.pricing import Ownership
from topoopt.reinforcement.fabrics import FabricRow
from topoopt.reinforcement.job import RlJob
from topoopt.reinforcement.policies import Turns
from topoopt.reinforcement.rollout_phase import RolloutPhase
from topoopt.reinforcement.training import TrainingPhase
from topoopt.reinforcement.weight_move import WeightTraffic
from topoopt.reinforcement.wirings import Rewiring
from topoopt.transformers import OwnedCluster

HARDLY = 0.02
"""A network whose doubling saves less than this share of a step hardly matters."""


@shows_itself
@dataclass(frozen=True, eq=False)
class RlStep:
    """One step.

    Attributes
    ----------
    rollout_accelerators, training_accelerators : int
        The same ones where they take turns.
    traffic : WeightTraffic
        Of the weights that are brought over.
    weight_bytes : float
        All weights once, as they are sent.
    transport : str
        The software that brings them.
    network_sync_s, network_rollout_s : float
        What the network alone needs for them, and for the rollout's sums and exchanges between servers, at the least.
    cluster : OwnedCluster or None
        What the machines cost.
    fabrics : tuple of FabricRow
        The step on each network that was asked about; the first is the ideal switch.
    rewiring : Rewiring or None
        One wiring for all phases against one each.
    """

    job: RlJob
    rollout_accelerators: int
    training_accelerators: int
    rollout: RolloutPhase
    training: TrainingPhase
    turns: Turns
    traffic: WeightTraffic
    weight_bytes: float
    transport: str
    sync_s: float
    network_sync_s: float
    network_rollout_s: float
    overhead_s: float
    cluster: OwnedCluster | None = None
    fabrics: tuple[FabricRow, ...] = ()
    rewiring: Rewiring | None = None

    @property
    def step_s(self) -> float:
        """Seconds of a step."""
        return self.turns.step_s

    @property
    def phases_s(self) -> Mapping[str, float]:
        """Seconds of each phase, whether it hides behind another or not."""
        return {
            "rollout": self.turns.rollout_s,
            **self.training.forward_s,
            "training": self.training.training_s,
            "weights": self.sync_s,
            "between phases": self.overhead_s,
        }

    @property
    def waiting_bytes_per_server(self) -> float:
        """Of the models that are not at work, in the memory of each host that trains, from where they take turns."""
        return self.job.waiting_bytes / -(
            -self.training_accelerators // self.job.system.accelerators_per_server
        )

    @property
    def tokens_per_s(self) -> float:
        """Tokens of prompts and answers that a second gets through a whole step."""
        return self.job.tokens / self.step_s

    @property
    def tokens_per_s_per_accelerator(self) -> float:
        """The same of each accelerator."""
        return self.tokens_per_s / self.job.accelerators

    @property
    def bound_by(self) -> str:
        """The phase that a step would be shorter without, and what that phase waits for."""
        longest = self.turns.rollout_s, self.training.time_s
        if self.sync_s > max(longest):
            return "weights"
        if self.turns.rollout_s >= self.training.time_s:
            return f"rollout: {self.rollout.limit}"
        parts = self.training.parts_s
        waits = {"bubble_s": "the pipeline's bubble", "compute_s": "compute"}
        largest = max(parts, key=parts.__getitem__)
        return f"training: {waits.get(largest, largest.removesuffix('_s') + ' communication')}"

    @property
    def network_s(self) -> float:
        """Seconds of a step for bytes between servers: of weights, of the rollout, and that training waits for."""
        names = ("tp_s", "cp_s", "ep_s", "pp_s", "dp_s")
        training_s = sum(self.training.parts_s[name] for name in names)
        if not self.job.disjoint:
            return self.network_sync_s + self.network_rollout_s + training_s
        ahead = self.turns.rollout_s > self.training.time_s
        return self.network_sync_s + (self.network_rollout_s if ahead else training_s)

    @property
    def network_hardly_matters(self) -> bool:
        """Whether a network of twice the bandwidth would save next to nothing."""
        return self.network_s / 2 < HARDLY * self.step_s

    @property
    def ownership(self) -> Ownership | None:
        """What servers, network and electricity cost together."""
        if self.cluster is None:
            return None
        tokens = max(1, round(self.job.tokens / self.job.answers))
        return self.cluster.training(self.step_s, self.job.answers, tokens)

    @property
    def usd_per_step(self) -> float | None:
        """Dollars of a step; None where a price is not known."""
        owned = self.ownership
        if owned is None or owned.usd_per_hour is None:
            return None
        return owned.usd_per_hour * self.step_s / 3600

    def rows(self) -> list[dict[str, Any]]:
        """Return every span of the step: pool, phase, when."""
        return [{**asdict(span), "time_s": span.time_s} for span in self.turns.spans]

    def to_frame(self) -> Frame:
        """Return the spans as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        job, split = self.job, self.training.configuration
        words = (
            "algorithm",
            "policy",
            "accelerators",
            "prompts",
            "samples",
            "prompt_tokens",
            "epochs",
            "updates",
        )
        played = self.rollout.played
        return {
            "model": job.model.name,
            "accelerator": find_accelerator(job.system.accelerator).name,
            **{name: getattr(job, name) for name in words},
            "answers": job.answers,
            "mean_answer_tokens": job.lengths.mean,
            "longest_answer_tokens": job.lengths.longest,
            "step_s": self.step_s,
            "phases_s": {
                name.replace(" ", "_").replace("-", "_"): value for name, value in self.phases_s.items()
            },
            "bound_by": self.bound_by,
            "tokens_per_s": self.tokens_per_s,
            "tokens_per_s_per_accelerator": self.tokens_per_s_per_accelerator,
            "usd_per_step": self.usd_per_step,
            "rollout": {
                "accelerators": self.rollout_accelerators,
                "replicas": self.rollout.replicas,
                **asdict(self.rollout.parallelism),
                "capacity_tokens": self.rollout.capacity_tokens,
                "largest_batch": played.largest_batch,
                "most_cached_tokens": played.most_cached_tokens,
                "preempted": played.preempted,
                "decode_steps": played.steps,
                "tail_share": played.tail_share,
                "all_answers_s": self.rollout.time_s,
                "steady_s": self.rollout.steady_s,
                "limit": self.rollout.limit,
            },
            "training": {
                "accelerators": self.training_accelerators,
                **{name: getattr(split, name) for name in ("tp", "pp", "dp", "cp", "ep", "etp")},
                "micro_batch": split.micro_batch,
                "recompute": split.recompute,
                "sequence": split.sequence,
                "waiting_bytes_per_server": self.waiting_bytes_per_server,
                "parts_s": dict(self.training.parts_s),
            },
            "weights": {
                "bytes": self.weight_bytes,
                "way": self.traffic.way,
                "transport": self.transport,
                "network_bytes": self.traffic.total_bytes,
                "accelerator_bytes": self.traffic.accelerator_bytes,
                "busiest_server_bytes": self.traffic.busiest_bytes,
                "network_s": self.network_sync_s,
                "time_s": self.sync_s,
            },
            "staleness_steps": self.turns.staleness_steps,
            "longest_staleness_steps": self.turns.longest_staleness_steps,
            "network_s": self.network_s,
            "network_hardly_matters": self.network_hardly_matters,
            "spans": self.rows(),
            "ownership": None if self.ownership is None else asdict(self.ownership),
            "fabrics": [asdict(row) for row in self.fabrics],
            "rewiring": None if self.rewiring is None else self.rewiring.to_json(),
        }
