"""The noun RlJob: the question; a model that is trained by its own answers, on which accelerators, in which turns."""

from dataclasses import dataclass, fields
from functools import cache, cached_property

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import PRECISIONS
from topoopt.reinforcement.response_lengths import ResponseLengths
from topoopt.schema.files import packaged_rows
from topoopt.transformers import System
from topoopt.workloads.transformer import TransformerModel, count_parameters


@dataclass(frozen=True, slots=True)
class Constants:
    """What measured steps take beyond the laws of serving and training; see ``data/constants.csv``.

    Attributes
    ----------
    rollout_layer_s, rollout_answer_s : float
        What a decode step takes longer in an engine inside of a trainer than in one that serves alone: for each layer,
        and for each answer.
    rollout_network_layer_s : float
        The same for each layer and each doubling of the servers that sum it up.
    training_factor : float
        On the closed form of training, and of passes over answers.
    step_overhead_s : float
        Of every step: data handled between phases, engines put to sleep and woken.
    length_spread : float
        Standard deviation of the logarithm of lengths of answers, where nobody says.
    colocated_memory_share : float
        Of an accelerator's memory that the engine takes where training keeps what it cannot put away.
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
"""Of the weights that answer; laws of serving know others, whose weights nobody casts in a step."""
REWARDS = ("rule", "model")
"""A program checks answers; a model as large as the trained one reads them."""


@dataclass(frozen=True)
class RlJob:
    """What one step of reinforcement learning is.

    Attributes
    ----------
    accelerators : int
        Of all pools.
    system : System
        The machines.
    algorithm, policy, reward : str
        Of :data:`ALGORITHMS`, :data:`POLICIES` and :data:`REWARDS`.
    prompts, samples : int
        Prompts of a step, and answers to each.
    prompt_tokens : int
        Of each prompt.
    lengths : ResponseLengths
        Of all answers of a step.
    max_tokens : int
        Of a prompt and its answer, at most: training packs into sequences of so many.
    epochs : int
        How often a step's answers are trained on.
    updates : int
        Optimizer steps of an epoch.
    reference : bool
        Whether a frozen copy of the model reads the answers, too.
    staleness : float
        Of an asynchronous policy: answers that may be begun beyond those of a step, over those of a step.
    precision, rollout_precision : str
        Of training, and of the weights that answer.
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
        check_known("algorithm", self.algorithm, ALGORITHMS)
        check_known("policy", self.policy, POLICIES)
        check_known("reward", self.reward, REWARDS)
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
        """Whether those that answer and those that train are different accelerators."""
        return self.policy != "colocated"

    @property
    def answers(self) -> int:
        """Of a step."""
        return self.prompts * self.samples

    @cached_property
    def tokens(self) -> float:
        """Of a step's prompts and answers, each with its prompt: what is read and trained on."""
        return float(self.lengths.tokens.sum()) + self.answers * self.prompt_tokens

    @property
    def passes(self) -> dict[str, int]:
        """Forward passes over all tokens before training, by what for."""
        passes = {"old log-probs": 1, "reference": int(self.reference), "reward": int(self.reward == "model")}
        return {**passes, "critic": int(self.algorithm == "ppo")}

    @property
    def waiting_bytes(self) -> float:
        """Of the other models while the policy is trained: 2 bytes of a frozen parameter, 16 of a critic's."""
        frozen = int(self.reference) + int(self.reward == "model")
        return count_parameters(self.model).total * (2.0 * frozen + 16.0 * (self.trained_models - 1))

    @property
    def trained_models(self) -> int:
        """The policy, and with PPO a critic of its size."""
        return 2 if self.algorithm == "ppo" else 1


@cache
def shipped_constants() -> Constants:
    """Return those that come with the package."""
    rows = {row["name"]: float(row["value"]) for row in packaged_rows("reinforcement", "constants")}
    return Constants(**{one.name: rows[one.name] for one in fields(Constants)})
