"""The order of a step's phases: one after the other, pools that overlap, or pools that run at rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.reinforcement.job import RlJob
from topoopt.reinforcement.rollout_phase import RolloutPhase
from topoopt.reinforcement.training import TrainingPhase


@dataclass(frozen=True, slots=True)
class Span:
    """What a pool does, and when; idle time has no span."""

    pool: str
    phase: str
    start_s: float
    end_s: float

    @property
    def time_s(self) -> float:
        """How long."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class Turns:
    """A step's spans.

    Attributes
    ----------
    step_s : float
        From one step to the next.
    spans : tuple of Span
    rollout_s : float
        Until the answers of a step are there.
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
    """What policies put in order.

    Attributes
    ----------
    sync_s : float
        In which weights are brought over.
    overhead_s : float
        Between phases, whatever their order.
    rollout_wait_s, training_wait_s : float
        What a network adds to both that is worse than one which gives each server all of its bandwidth to anybody.
    """

    rollout: RolloutPhase
    training: TrainingPhase
    sync_s: float
    overhead_s: float
    rollout_wait_s: float = 0.0
    training_wait_s: float = 0.0

    @property
    def training_s(self) -> float:
        """Passes before training, training, and what it waits for a network."""
        return self.training.time_s + self.training_wait_s


def take_turns(job: RlJob, phases: Phases) -> Turns:
    """Return how the phases of a step follow each other under the job's policy."""
    return _POLICIES[job.policy](job, phases)


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
