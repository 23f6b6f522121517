"""The noun Constants: the few numbers of a step that no law gives, each with where it comes from."""

from dataclasses import dataclass, fields
from functools import cache

from topoopt.schema.files import packaged_rows


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


@cache
def shipped_constants() -> Constants:
    """Return those that come with the package."""
    rows = {row["name"]: float(row["value"]) for row in packaged_rows("reinforcement", "constants")}
    return Constants(**{one.name: rows[one.name] for one in fields(Constants)})
