"""One step of reinforcement learning (GRPO or PPO): phases, pools, weight transfer, and cost."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.answers import fields_of, rows_to_frame, shows_itself
from topoopt.base.units import interval_s
from topoopt.catalog import Skipped, find_accelerator
from topoopt.pricing import Ownership
from topoopt.reinforcement.fabrics import FabricRow, Rewiring
from topoopt.reinforcement.job import RlJob
from topoopt.reinforcement.phases import RolloutPhase, TrainingPhase
from topoopt.reinforcement.weight_sync import WeightTraffic
from topoopt.transformers import OwnedCluster


@dataclass(frozen=True, slots=True)
class Span:
    """An activity of a pool with begin and end; idle time has no span."""

    pool: str
    phase: str
    start_s: float
    end_s: float

    @property
    def time_s(self) -> float:
        """Duration of the span."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Turns:
    """A step's spans.

    Attributes
    ----------
    step_s : float
        Time from one step to the next.
    spans : tuple of Span
    rollout_s : float
        Time until the answers of a step are complete.
    staleness_steps, longest_staleness_steps : float
        Updates of the weights between an answer's first token and the training on it, on average and for the longest.
    """

    step_s: float
    spans: tuple[Span, ...]
    rollout_s: float
    staleness_steps: float
    longest_staleness_steps: float


@dataclass(frozen=True, slots=True)
class Phases:
    """Durations that policies arrange in time.

    Attributes
    ----------
    sync_s : float
        Time of the weight transfer.
    overhead_s : float
        Overhead between phases, in any order.
    rollout_wait_s, training_wait_s : float
        Additional time of both on the actual network, compared with one that gives each server all of its
        bandwidth to any other.
    """

    rollout: RolloutPhase
    training: TrainingPhase
    sync_s: float
    overhead_s: float
    rollout_wait_s: float = 0.0
    training_wait_s: float = 0.0

    @property
    def training_s(self) -> float:
        """Passes before training, training, and its wait for the network."""
        return self.training.time_s + self.training_wait_s


def _colocated(job: RlJob, phases: Phases) -> Turns:
    rollout_s = phases.rollout.time_s + phases.rollout_wait_s
    spans = [Span("all", "rollout", 0.0, rollout_s), *_training_spans("all", phases, rollout_s)]
    end = spans[-1].end_s
    spans.append(Span("all", "weights", end, end + phases.sync_s))
    return Turns(end + phases.sync_s + phases.overhead_s, tuple(spans), rollout_s, 0.0, 0.0)


def _one_step_off(job: RlJob, phases: Phases) -> Turns:
    return _beside(phases, phases.rollout.time_s + phases.rollout_wait_s, 1.0, 1.0)


def _asynchronous(job: RlJob, phases: Phases) -> Turns:
    rollout = phases.rollout
    rollout_s = rollout.answers_s(job) + phases.rollout_wait_s
    step_s = max(rollout_s, phases.training_s) + phases.sync_s + phases.overhead_s
    token_s = rollout.time_s / max(rollout.played.steps, 1)
    mean_s, longest_s = job.lengths.mean * token_s, job.lengths.longest * token_s
    return _beside(phases, rollout_s, 1.0 + mean_s / step_s, 1.0 + longest_s / step_s)


def _beside(phases: Phases, rollout_s: float, staleness: float, longest: float) -> Turns:
    spans = [Span("rollout", "rollout", 0.0, rollout_s), *_training_spans("training", phases, 0.0)]
    end = max(rollout_s, phases.training_s)
    after = end + phases.sync_s
    spans += [Span(pool, "weights", end, after) for pool in ("rollout", "training")]
    return Turns(after + phases.overhead_s, tuple(spans), rollout_s, staleness, longest)


def _training_spans(pool: str, phases: Phases, start_s: float) -> list[Span]:
    training, spans, now = phases.training, [], start_s
    last = ("training", training.training_s + phases.training_wait_s)
    for phase, seconds in (*training.forward_s.items(), last):
        spans.append(Span(pool, phase, now, now + seconds))
        now += seconds
    return spans


_POLICIES: Mapping[str, Callable[[RlJob, Phases], Turns]] = {
    "colocated": _colocated,
    "one-step-off": _one_step_off,
    "asynchronous": _asynchronous,
}
HARDLY = 0.02
"""A network whose doubling saves less than this share of a step hardly matters."""


@shows_itself
@dataclass(frozen=True, eq=False)
class RlStep:
    """Simulated step.

    Attributes
    ----------
    rollout_accelerators, training_accelerators : int
        The same accelerators where pools take turns.
    traffic : WeightTraffic
        Traffic of the weight transfer.
    weight_bytes : float
        All weights once, as they are sent.
    transport : str
        The software that brings them.
    network_sync_s, network_rollout_s : float
        Lower bounds by the network alone for the weight transfer, and for the rollout's AllReduces and exchanges
        between servers.
    cluster : OwnedCluster or None
        Cost of the servers and the network.
    fabrics : tuple of FabricRow
        The step on each requested network; the first is the ideal switch.
    skipped : tuple of (fabric, reason)
        Networks that cannot be built for these servers and ports.
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
    skipped: Skipped = ()
    rewiring: Rewiring | None = None
    assumed: str = ""
    """The network that was taken because none was given."""

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
        """Size per training host of models swapped out to its memory, where pools take turns."""
        return self.job.waiting_bytes / -(
            -self.training_accelerators // self.job.system.accelerators_per_server
        )

    @property
    def tokens_per_s(self) -> float:
        """Tokens per second, prompts and answers, over a whole step."""
        return self.job.tokens / self.step_s

    @property
    def tokens_per_s_per_accelerator(self) -> float:
        """Tokens per second and accelerator."""
        return self.tokens_per_s / self.job.accelerators

    @property
    def bound_by(self) -> str:
        """The bottleneck phase, and its own bottleneck."""
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
        """Total cost of servers, network and electricity."""
        if self.cluster is None:
            return None
        tokens = max(1, round(self.job.tokens / self.job.answers))
        return self.cluster.training(self.step_s, self.job.answers, tokens)

    @property
    def usd_per_step(self) -> float | None:
        """Dollars of a step; None where a price is not known."""
        return None if self.ownership is None else self.ownership.usd_for(self.step_s)

    def rows(self) -> list[dict[str, Any]]:
        """Return every span of the step: pool, phase, when."""
        return [{**asdict(span), "time_s": span.time_s} for span in self.turns.spans]

    to_frame = rows_to_frame

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        job, split = self.job, self.training.configuration
        words = (
            *("algorithm", "policy", "accelerators", "prompts", "samples", "prompt_tokens", "epochs"),
            "updates",
        )
        played = self.rollout.played
        return {
            "model": job.model.name,
            "accelerator": find_accelerator(job.system.accelerator).name,
            **fields_of(job, *words),
            "answers": job.answers,
            "mean_answer_tokens": job.lengths.mean,
            "longest_answer_tokens": job.lengths.longest,
            "step_s": self.step_s,
            "phases_s": {
                name.replace(" ", "_").replace("-", "_"): value for name, value in self.phases_s.items()
            },
            **fields_of(self, "bound_by", "tokens_per_s", "tokens_per_s_per_accelerator", "usd_per_step"),
            "rollout": {
                "accelerators": self.rollout_accelerators,
                "replicas": self.rollout.replicas,
                **asdict(self.rollout.parallelism),
                "capacity_tokens": self.rollout.capacity_tokens,
                **fields_of(played, "largest_batch", "most_cached_tokens", "preempted"),
                "decode_steps": played.steps,
                "tail_share": played.tail_share,
                "all_answers_s": self.rollout.time_s,
                **fields_of(self.rollout, "steady_s", "limit"),
            },
            "training": {
                "accelerators": self.training_accelerators,
                **fields_of(split, "tp", "pp", "dp", "cp", "ep", "etp"),
                **fields_of(split, "micro_batch", "recompute", "sequence"),
                "waiting_bytes_per_server": self.waiting_bytes_per_server,
                **interval_s("time", self.training.training_s, self.training.interval_share),
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
            **fields_of(self.turns, "staleness_steps", "longest_staleness_steps"),
            **fields_of(self, "network_s", "network_hardly_matters"),
            "spans": self.rows(),
            "ownership": None if self.ownership is None else asdict(self.ownership),
            "fabrics": [{**asdict(row), "label": row.label} for row in self.fabrics],
            "skipped_fabrics": [list(row) for row in self.skipped],
            "rewiring": None if self.rewiring is None else self.rewiring.to_json(),
            "assumed": self.assumed,
        }


def take_turns(job: RlJob, phases: Phases) -> Turns:
    """Return the order and times of a step's phases under the job's policy."""
    return _POLICIES[job.policy](job, phases)
