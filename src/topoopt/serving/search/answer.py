"""The noun ServingAnswer: deployments with their goodput, times, price and what binds; the front; a timeline."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.door import shows_itself
from topoopt.frame import Frame, frame
from topoopt.hardware import find_accelerator
from topoopt.provenance import Provenance
from topoopt.serving.deployment import Pool
from topoopt.serving.search.binding import Binding
from topoopt.serving.search.candidates import Candidate
from topoopt.serving.search.pareto import ParetoPoint
from topoopt.serving.search.question import Question
from topoopt.serving.search.split_words import split_words
from topoopt.serving.simulator import ServingRun
from topoopt.serving.simulator.result import spread_of


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A deployment that was simulated.

    Attributes
    ----------
    run : ServingRun
        At the rate that was asked for.
    at_goodput : ServingRun
        At the goodput, where there is one.
    goodput_per_s : float
        Requests a second at which enough meet both objectives.
    stable_per_s : float
        Requests a second when there is always something to do.
    binding : Binding
        At the goodput.
    """

    candidate: Candidate
    run: ServingRun
    at_goodput: ServingRun
    goodput_per_s: float
    stable_per_s: float
    binding: Binding

    @property
    def words(self) -> str:
        """The deployment in a few words."""
        deployment = self.candidate.deployment
        if deployment.prefill is None:
            return f"{deployment.mode}, {pool_words(deployment.decode)}"
        return f"{pool_words(deployment.prefill)} read, {pool_words(deployment.decode)} answer"

    @property
    def accelerators(self) -> int:
        """Those in use."""
        return self.candidate.deployment.accelerators

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens of answers a second, at the rate that was asked for."""
        return self.run.output_tokens_per_s

    def accelerator_tokens_per_s(self, run: ServingRun) -> float:
        """Return the tokens of answers a second for each accelerator in use."""
        return run.output_tokens_per_s / self.accelerators


def user_tokens_per_s(run: ServingRun) -> float:
    """Return the tokens a second that a user sees on average, after the first; NaN where there is none."""
    tpot_s = spread_of(run.tpot_s).mean
    return 1 / tpot_s if tpot_s > 0 else float("nan")


def pool_words(pool: Pool) -> str:
    """Return a pool in short, such as ``4 × TP8``."""
    return f"{pool.replicas} × {split_words(pool.parallelism)}"


@shows_itself
@dataclass(frozen=True, eq=False)
class ServingAnswer:
    """What ``topoopt serving`` says.

    Attributes
    ----------
    deployments : tuple of Evaluated
        The one of the highest goodput first.
    front : tuple of ParetoPoint
        In closed form, from the fastest for a user on.
    splits, screened : int
        Ways of splitting a replica that fit, and deployments of them that meet the objectives in closed form.
    """

    question: Question
    deployments: tuple[Evaluated, ...]
    front: tuple[ParetoPoint, ...]
    splits: int
    screened: int

    @property
    def best(self) -> Evaluated:
        """The deployment of the highest goodput."""
        return self.deployments[0]

    @property
    def meets(self) -> bool:
        """Whether enough requests meet the objectives at the rate that was asked for."""
        return self.best.run.attainment(self.question.objectives) >= self.question.objectives.share

    @property
    def accelerator(self) -> str:
        """The accelerator, as the catalogue calls it."""
        return find_accelerator(self.question.machine.accelerator).name

    def usd_per_million(self, tokens_per_s: float) -> float | None:
        """Return what a million tokens of answers cost at so many a second, all machines being paid for."""
        owned = self.question.owned
        if owned is None or owned.usd_per_hour is None or tokens_per_s <= 0:
            return None
        return owned.usd_per_hour / 3600 / tokens_per_s * 1e6

    def row(self, one: Evaluated) -> dict[str, Any]:
        """Return a deployment as plain values, a name for each."""
        question, run = self.question, one.run
        deployment, answer = one.candidate.deployment, question.demand.answer
        goodput = one.goodput_per_s
        return {
            "mode": deployment.mode,
            **_pool_row("", deployment.decode),
            **(_pool_row("prefill_", deployment.prefill) if deployment.prefill else {}),
            "accelerators": deployment.accelerators,
            "goodput_per_s": goodput,
            "goodput_per_accelerator_per_s": goodput / deployment.accelerators,
            "stable_per_s": one.stable_per_s,
            "attainment": run.attainment(question.objectives),
            **_named("ttft", run.ttft_s),
            **_named("tpot", run.tpot_s),
            **_named("queue", run.queue_s),
            "prefill_mean_s": float(run.prefill_s.mean()),
            "transfer_mean_s": float(run.transfer_s.mean()),
            "output_tokens_per_s": run.output_tokens_per_s,
            "accelerator_tokens_per_s": one.accelerator_tokens_per_s(run),
            "user_tokens_per_s": _finite(user_tokens_per_s(run)),
            "accelerator_tokens_per_s_at_goodput": one.accelerator_tokens_per_s(one.at_goodput),
            "user_tokens_per_s_at_goodput": _finite(user_tokens_per_s(one.at_goodput)),
            "usd_per_million_tokens": self.usd_per_million(run.output_tokens_per_s),
            "usd_per_million_tokens_at_goodput": self.usd_per_million(goodput * answer),
            "preempted": int(run.preempted.sum()),
            "prefix_hit_share": run.hit_share,
            "peak_cache_share": float(run.peak_share.max()),
            "binds": one.binding.what,
            "binds_because": one.binding.words,
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every deployment that was simulated, the best first."""
        yield from map(self.row, self.deployments)

    def to_frame(self) -> Frame:
        """Return the deployments that were simulated as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        question = self.question
        objectives, demand = question.objectives, question.demand
        return {
            "model": question.machine.model.name,
            "accelerator": self.accelerator,
            "accelerators": question.limits.accelerators,
            "requests": len(demand.requests),
            "requests_words": demand.words,
            "rate_per_s": _finite(demand.rate_per_s),
            "input_tokens_mean": demand.prompt,
            "output_tokens_mean": demand.answer,
            "objectives": asdict(objectives),
            "router": question.router,
            "settings": asdict(question.machine.settings),
            "meets": self.meets,
            "splits": self.splits,
            "screened": self.screened,
            "usd_per_hour": question.owned.usd_per_hour if question.owned else None,
            "deployments": list(self.rows()),
            "pareto": [asdict(point) for point in self.front],
            "provenance": asdict(Provenance(seed=question.seed)),
        }


def _pool_row(prefix: str, pool: Pool) -> dict[str, int]:
    split = pool.parallelism
    return {
        f"{prefix}replicas": pool.replicas,
        f"{prefix}tensor": split.tensor,
        f"{prefix}pipeline": split.pipeline,
        f"{prefix}expert": split.expert,
        f"{prefix}attention_data": split.attention_data,
    }


def _named(name: str, values: np.ndarray[Any, Any]) -> dict[str, float | None]:
    return {f"{name}_{key}": value for key, value in spread_of(values).to_json().items()}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
