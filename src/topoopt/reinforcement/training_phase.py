"""How long training on a step's answers takes, and reading them before: by the closed form of transformers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.reinforcement.job import Constants, RlJob
from topoopt.transformers import (
    Calibration,
    Configuration,
    Limits,
    SearchRequest,
    StepTimes,
    configuration_table,
    divisors,
    estimate,
    search_configurations,
)

FORWARD_OF_COMPUTE = 1 / 3
"""2N of 6N FLOPs a token, without recomputation."""

FORWARD_OF_EXCHANGES = 1 / 2
"""Tensor, context, expert and pipeline parallel exchanges are as many forward as backward."""

ROUNDED_BY = 8
"""A batch of packed sequences is rounded up by less than an eighth."""


@dataclass(frozen=True, slots=True)
class TrainingPhase:
    """What training takes, and the passes before it.

    Attributes
    ----------
    configuration : Configuration
        Of one optimizer step: packed sequences.
    forward_s : dict of str to float
        Of each pass over all tokens before training, by what for.
    training_s : float
        All optimizer steps, of a critic, too.
    parts_s : dict of str to float
        Where the seconds of training go, see :data:`~topoopt.transformers.STEP_PARTS`.
    """

    configuration: Configuration
    forward_s: Mapping[str, float]
    training_s: float
    parts_s: Mapping[str, float]

    @property
    def time_s(self) -> float:
        """Passes and training, one after the other."""
        return sum(self.forward_s.values()) + self.training_s


def training_phase(
    job: RlJob, accelerators: int, fixed: Mapping[str, Any], calibration: Calibration, constants: Constants
) -> TrainingPhase:
    """Return the fastest way to train on so many accelerators that fits into memory.

    Answers are packed into sequences of the longest one's tokens, and do not see each other.

    Parameters
    ----------
    fixed
        Fields of :class:`~topoopt.transformers.Configuration` that are given, such as ``tp``.

    Raises
    ------
    InvalidInput
        If what is given does not go with the model, the accelerators or the answers.
    Infeasible
        If nothing fits into memory.
    """
    sequences = job.tokens / job.updates / job.max_tokens
    request = SearchRequest(
        job.model,
        accelerators,
        replace(
            job.system,
            accelerators_per_server=min(job.system.accelerators_per_server, accelerators),
        ),
        _batch(sequences, accelerators, fixed),
        job.max_tokens,
        {**fixed, **_documents(job)},
        Limits(uneven_stages=True),
        job.precision,
        calibration.attention,
    )
    try:
        found = search_configurations(request, calibration)
    except (InvalidInput, Infeasible) as error:
        raise type(error)(_in_own_words(str(error), accelerators)) from None
    best = found.table.row(0)
    times = estimate(job.model, configuration_table([best]), request.system, found.calibration)
    share = sequences / request.global_batch * job.updates
    one = {name: float(getattr(times, name)[0]) for name in _PARTS}
    factor = constants.training_factor * share * job.epochs * job.trained_models
    forward_s = _forward_s(job, best, request, found.calibration) * share * constants.training_factor
    return TrainingPhase(
        best,
        {name: count * forward_s for name, count in job.passes.items() if count},
        factor * float(times.iteration_time_s[0]),
        {name: factor * seconds for name, seconds in one.items()},
    )


def _in_own_words(said: str, accelerators: int) -> str:
    """Return what is wrong with training, with the degree that it begins with as people call it here."""
    name, _, rest = said.partition(" ")
    return (
        f"{_CALLED[name]} {rest}" if name in _CALLED else f"training on {accelerators} accelerators: {said}"
    )


_CALLED = {"tp": "train_tensor", "pp": "train_pipeline", "cp": "train_context", "ep": "train_expert"}

_PARTS = ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")


def _batch(sequences: float, accelerators: int, fixed: Mapping[str, Any]) -> int:
    """Return the packed sequences of an optimizer step, rounded up to what replicas can share evenly."""
    inside = fixed.get("tp", 1) * fixed.get("pp", 1) * fixed.get("cp", 1)
    if {"tp", "pp", "cp"} <= set(fixed) and accelerators % inside == 0:
        granule = accelerators // inside
    else:
        granule = max(one for one in divisors(accelerators) if one <= max(1.0, sequences / ROUNDED_BY))
    return int(granule * max(1, math.ceil(sequences / granule)))


def _documents(job: RlJob) -> dict[str, float]:
    mean = job.tokens / job.answers
    if mean > job.max_tokens / 2:
        return {}
    tokens = job.lengths.tokens + job.prompt_tokens
    return {"document": round(mean), "document_spread": round(float(tokens.std() / mean), 3)}


def _forward_s(job: RlJob, one: Configuration, request: SearchRequest, calibration: Calibration) -> float:
    """Return the seconds of a pass over the sequences of an optimizer step: nothing is recomputed or reduced."""
    plain = replace(one, recompute="none", recompute_layers=0)
    times: StepTimes = estimate(job.model, configuration_table([plain]), request.system, calibration)
    computing = times.compute_s + times.bubble_s
    exchanges = times.tp_s + times.cp_s + times.ep_s + times.pp_s
    return float((FORWARD_OF_COMPUTE * computing + FORWARD_OF_EXCHANGES * exchanges)[0])
