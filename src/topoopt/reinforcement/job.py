"""RlJob: a model trained on its own answers, its accelerators, and the lengths of answers."""

import math
import os
from dataclasses import dataclass, fields
from functools import cache, cached_property

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, check_fields, check_known
from topoopt.base.limits import LARGEST
from topoopt.catalog import PRECISIONS
from topoopt.schema.files import packaged_rows, read_text
from topoopt.transformers import System
from topoopt.workloads.transformer import TransformerModel, count_parameters

USUAL_SPREAD = 0.9
"""Default standard deviation of the logarithm of lengths, fitted to measured steps, see ``constants.csv``."""
ALWAYS_LONGEST = 0.999
"""A mean above this share of the limit: nearly every answer is cut off."""
MOST_ANSWERS = 2**20
"""Most answers of a step, since they are simulated one by one."""
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class ResponseLengths:
    """Lengths of the answers of one step, the longest first.

    Attributes
    ----------
    tokens : array (samples,) of int, descending, at least 1
    """

    tokens: Ints

    def __post_init__(self) -> None:
        assert len(self.tokens) > 0
        assert self.tokens[-1] >= 1
        assert (np.diff(self.tokens) <= 0).all()

    @property
    def longest(self) -> int:
        """Tokens of the longest."""
        return int(self.tokens[0])

    @property
    def mean(self) -> float:
        """Tokens of an average one."""
        return float(self.tokens.mean())

    @property
    def spread(self) -> float:
        """Standard deviation over the mean."""
        return float(self.tokens.std()) / self.mean

    def of_replica(self, replicas: int) -> "ResponseLengths":
        """Return those of the replica that has the most to do when they are dealt out, the longest first."""
        return ResponseLengths(self.tokens[::replicas])

    def in_order_of_arrival(self) -> Ints:
        """Return the lengths shuffled, in a fixed order: lengths are not known in advance."""
        places = np.argsort((np.arange(len(self.tokens)) * GOLDEN) % 1.0, kind="stable")
        return self.tokens[places]


@dataclass(frozen=True, slots=True)
class Constants:
    """Measured overheads of steps beyond the models of serving and training; see ``data/constants.csv``.

    Attributes
    ----------
    rollout_layer_s, rollout_answer_s : float
        Additional time of a decode step in an engine inside a trainer, compared with a stand-alone engine: per
        layer, and per answer.
    rollout_network_layer_s : float
        The same per layer and doubling of the servers of an AllReduce.
    training_factor : float
        Factor on the closed form of training, and of passes over answers.
    step_overhead_s : float
        Overhead per step: data handled between phases, engines put to sleep and woken.
    length_spread : float
        Default standard deviation of the logarithm of answer lengths.
    colocated_memory_share : float
        Share of an accelerator's memory for the engine where training keeps data that cannot be offloaded.
    """

    rollout_layer_s: float
    rollout_answer_s: float
    rollout_network_layer_s: float
    training_factor: float
    step_overhead_s: float
    length_spread: float
    colocated_memory_share: float


ALGORITHMS = ("grpo", "ppo")
"""Group-relative advantages of several answers to a prompt; a critic that is trained, too."""
POLICIES = ("colocated", "one-step-off", "asynchronous")
"""All accelerators answer, then all train. One pool answers for the next step while the other trains on the last. One
pool answers all the time; answers that are not done at new weights go on with them (partial rollouts)."""
ROLLOUT_PRECISIONS = ("bf16", "fp16", "fp8")
"""Precisions of rollout weights; serving has others, to which weights cannot be cast in a step."""
REWARDS = ("rule", "model")
"""A program checks answers; a model as large as the trained one reads them."""


@dataclass(frozen=True)
class RlJob:
    """One step of reinforcement learning.

    Attributes
    ----------
    accelerators : int
        Accelerators of all pools.
    algorithm, policy, reward : str
        Names in :data:`ALGORITHMS`, :data:`POLICIES` and :data:`REWARDS`.
    prompts, samples : int
        Prompts of a step, and answers to each.
    lengths : ResponseLengths
        Lengths of all answers of a step.
    max_tokens : int
        Maximum length of a prompt and its answer: training packs into sequences of this length.
    epochs : int
        Passes of training over a step's answers.
    updates : int
        Optimizer steps of an epoch.
    reference : bool
        Whether a frozen copy of the model reads the answers, too.
    staleness : float
        For an asynchronous policy, answers that may be started beyond those of a step, relative to those of a step.
    precision, rollout_precision : str
        Precision of training, and of the rollout weights.
    """

    model: TransformerModel
    accelerators: int
    system: System
    algorithm: str
    policy: str
    prompts: int
    samples: int
    prompt_tokens: int
    lengths: ResponseLengths
    max_tokens: int
    epochs: int = 1
    updates: int = 1
    reward: str = "rule"
    reference: bool = True
    staleness: float = 0.5
    precision: str = "bf16"
    rollout_precision: str = "bf16"

    def __post_init__(self) -> None:
        check_fields(self, algorithm=ALGORITHMS, policy=POLICIES, reward=REWARDS)
        check_known("gen_precision", self.rollout_precision, ROLLOUT_PRECISIONS)
        check_known("precision", self.precision, PRECISIONS)
        for name in ("accelerators", "prompts", "samples", "prompt_tokens", "epochs", "updates"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: expected an integer >= 1, got {getattr(self, name)}")
        if self.disjoint and self.accelerators < 2:
            raise InvalidInput(
                f"policy {self.policy}: takes two pools, and there is 1 accelerator; use colocated"
            )
        if self.updates > self.answers:
            raise InvalidInput(
                f"updates: {self.updates} of an epoch are more than its {self.answers} answers"
            )
        if not 0 <= self.staleness <= 100:
            raise InvalidInput(f"staleness: expected a number from 0 to 100, got {self.staleness:g}")

    @property
    def disjoint(self) -> bool:
        """Whether rollout and training use different accelerators."""
        return self.policy != "colocated"

    @property
    def answers(self) -> int:
        """Answers per step."""
        return self.prompts * self.samples

    @cached_property
    def tokens(self) -> float:
        """Tokens per step, prompts and answers, each answer with its prompt."""
        return float(self.lengths.tokens.sum()) + self.answers * self.prompt_tokens

    @property
    def passes(self) -> dict[str, int]:
        """Forward passes over all tokens before training, by purpose."""
        passes = {"old log-probs": 1, "reference": int(self.reference), "reward": int(self.reward == "model")}
        return {**passes, "critic": int(self.algorithm == "ppo")}

    @property
    def waiting_bytes(self) -> float:
        """Size of the other models while the policy is trained: 2 bytes per frozen parameter, 16 per parameter of
        a critic."""
        frozen = int(self.reference) + int(self.reward == "model")
        return count_parameters(self.model).total * (2.0 * frozen + 16.0 * (self.trained_models - 1))

    @property
    def trained_models(self) -> int:
        """The policy, and with PPO a critic of its size."""
        return 2 if self.algorithm == "ppo" else 1


@cache
def shipped_constants() -> Constants:
    """Return the jobs that come with the package."""
    rows = {row["name"]: float(row["value"]) for row in packaged_rows("reinforcement", "constants")}
    return Constants(**{one.name: rows[one.name] for one in fields(Constants)})


def check_answers(answers: int) -> None:
    """Refuse more answers than can be simulated one by one.

    Raises
    ------
    InvalidInput
        With the largest number.
    """
    if answers > MOST_ANSWERS:
        raise InvalidInput(
            f"prompts: times samples is {answers:,} answers of a step; expected at most {MOST_ANSWERS:,}"
        )


def lognormal_lengths(
    samples: int, mean: float, maximum: int, spread: float = USUAL_SPREAD
) -> ResponseLengths:
    """Return the quantiles of a lognormal distribution, cut off at a limit.

    Parameters
    ----------
    mean
        Tokens of an average answer, including truncated ones.
    spread
        Standard deviation of the logarithm before anything is cut off.

    Raises
    ------
    InvalidInput
        If the mean is not between 1 and the limit.

    Examples
    --------
    >>> found = lognormal_lengths(1000, 3154, 4096)
    >>> found.longest, round(found.mean / 3154, 2)
    (4096, 1.0)
    """
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import

    check_answers(samples)
    if not 1 <= mean <= maximum:
        raise InvalidInput(f"mean_length: expected tokens from 1 to max_length {maximum}, got {mean:g}")
    if not 0 <= spread <= 5:
        raise InvalidInput(f"length_spread: expected a number from 0 to 5, got {spread:g}")
    if mean >= ALWAYS_LONGEST * maximum:
        return ResponseLengths(np.full(samples, maximum, np.int64))
    if spread == 0:
        return ResponseLengths(np.full(samples, round(mean), np.int64))
    center = brentq(
        lambda mu: _mean_cut_off(mu, spread, maximum) - mean, -1.0, math.log(maximum) + 10 * spread + 1
    )
    shares = (np.arange(samples, 0, -1) - 0.5) / samples
    tokens = np.exp(center + spread * ndtri(shares)).round().clip(1, maximum)
    return ResponseLengths(tokens.astype(np.int64))


def _mean_cut_off(center: float, spread: float, maximum: int) -> float:
    """Return the mean of min(X, maximum) of a lognormal X."""
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import

    most = math.log(maximum)
    below = math.exp(center + spread * spread / 2) * float(ndtr((most - center) / spread - spread))
    return below + maximum * float(ndtr((center - most) / spread))


def read_lengths(path: str | os.PathLike[str], samples: int, most: int = LARGEST) -> ResponseLengths:
    """Return ``samples`` lengths spread evenly over those of a file with one token count per line.

    Parameters
    ----------
    most
        Tokens at which answers are truncated, so that none is longer.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is empty, or a line is no number of tokens.
    """
    check_answers(samples)
    place, found = os.fspath(path), []
    for number, line in enumerate(read_text(place).splitlines(), 1):
        text = line.strip()
        if not text or (number == 1 and not text[0].isdigit()):
            continue
        try:
            tokens = int(text)
        except ValueError:
            tokens = 0
        if most < tokens <= LARGEST:
            raise InvalidInput(
                f"{place}: line {number}: an answer of {tokens:,} tokens, and max_length is {most:,}; say max_length "
                "as it was measured, or leave it out"
            )
        if not 1 <= tokens <= LARGEST:
            raise InvalidInput(
                f'{place}: line {number}: expected tokens of an answer, an integer >= 1, got "{text[:40]}"'
            )
        found.append(tokens)
    if not found:
        raise InvalidInput(f"{place}: has no lengths; write the tokens of an answer on each line")
    ordered = np.sort(np.asarray(found, np.int64))[::-1]
    places = ((np.arange(samples) + 0.5) * len(ordered) / samples).astype(np.int64)
    return ResponseLengths(np.ascontiguousarray(ordered[places]))
