"""``topoopt.rl``: a step of reinforcement learning, its phases, pools and wirings; or a table of measured ones."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.catalog import compared_by
from topoopt.frontends.verbs.llm.words import Transformer, model_of, system_of
from topoopt.frontends.verbs.pricing import cluster_of, ownership_terms, pricing
from topoopt.inference import Parallelism
from topoopt.reinforcement import (
    ResponseLengths,
    RlJob,
    RlRequest,
    RlRuns,
    RlStep,
    lognormal_lengths,
    plan_step,
    predict_rl_runs,
    read_lengths,
    shipped_constants,
    with_fabrics,
)
from topoopt.schema.words import RlWords, checked_arguments, checked_words, defaults, refuse_empty
from topoopt.transformers import named_calibration, usual_precision

MOST_SERVERS = 128
"""For which networks are looked at where nobody asks; of more it takes a while."""

_TRAINING = {"train_tensor": "tp", "train_pipeline": "pp", "train_context": "cp", "train_expert": "ep"}
_ROLLOUT = {
    "gen_tensor": "tensor",
    "gen_pipeline": "pipeline",
    "gen_expert": "expert",
    "gen_attention_data": "attention_data",
}


@checked_arguments
def rl(model: Transformer, **words: Unpack[RlWords]) -> RlStep:
    """Say how long a step of reinforcement learning takes, phase by phase, and what it waits for.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model.
    **words
        The flags of ``topoopt rl`` with underscores: ``accelerators``, ``policy``, ``prompts``, ``samples`` …

    Returns
    -------
    RlStep

    Raises
    ------
    InvalidInput
        For an unknown word or name, or degrees that do not go together.
    Infeasible
        If the model, or an answer's keys and values, do not fit.

    Examples
    --------
    >>> import topoopt
    >>> step = topoopt.rl("qwen3-8b", accelerators=16, prompts=64, samples=8, mean_length=1000, max_length=4000)
    >>> [span.phase for span in step.turns.spans]
    ['rollout', 'old log-probs', 'reference', 'training', 'weights']
    """
    settings = checked_words(words, RlWords)
    refuse_empty(words)
    if settings.get("accelerators") is None:
        raise InvalidInput("accelerators: say how many accelerators there are")
    request = _request(model, settings)
    job = request.job
    step = plan_step(request)
    running = {
        word: value for word, value in settings.items() if word != "samples"
    }  # of a priced run, to others
    step = replace(step, cluster=cluster_of(running, job.system, job.accelerators))
    names = _networks(settings, job)
    if not names:
        return step
    per_server = min(job.system.accelerators_per_server, job.accelerators)
    terms = ownership_terms(running, job.system.accelerator, per_server)
    return with_fabrics(
        step, tuple(names), terms, pricing(settings), settings.get("sync", ""), settings["seed"]
    )


def _networks(words: Mapping[str, Any], job: RlJob) -> tuple[str, ...]:
    """Return the networks that a step is put on: those that are named, or the usual ones of several servers."""
    if "fabrics" in words:
        return () if tuple(words["fabrics"]) == ("none",) else tuple(words["fabrics"])
    servers = -(-job.accelerators // job.system.accelerators_per_server)
    return compared_by("rl") if 2 <= servers <= MOST_SERVERS else ()


def _request(model: Transformer, words: Mapping[str, Any]) -> RlRequest:
    for name in (*_TRAINING, *_ROLLOUT, "accelerators", "rollout_accelerators", "max_batch"):
        if words.get(name) is not None:
            whole(name, words[name], 1)
    transformer, system = model_of(model, words), system_of(words)
    if "rollout_accelerators" in words and words["policy"] == "colocated":
        raise InvalidInput(
            "rollout_accelerators: colocated, all accelerators answer and train in turns; leave it out, or take "
            "policy one-step-off or asynchronous"
        )
    if words["policy"] != "asynchronous" and words["staleness"] != defaults(RlWords)["staleness"]:
        raise InvalidInput(
            f"staleness: is of policy asynchronous; {words['policy']} begins no answers beyond a step of them, leave "
            "it out"
        )
    constants = shipped_constants()
    ppo = words["algorithm"] == "ppo"
    samples = whole("samples", words.get("samples", 1 if ppo else 16), 1)
    prompts, prompt = whole("prompts", words["prompts"], 1), whole("prompt_length", words["prompt_length"], 1)
    lengths = _lengths(words, prompts * samples, constants.length_spread)
    job = RlJob(
        transformer,
        words["accelerators"],
        system,
        words["algorithm"],
        words["policy"],
        prompts,
        samples,
        prompt,
        lengths,
        prompt + max(words["max_length"], lengths.longest if "lengths" in words else 1),
        words["epochs"],
        words["updates"],
        words.get("reward", "model" if ppo else "rule"),
        words["reference"],
        words["staleness"],
        words.get("precision") or usual_precision(system.accelerator),
        words["gen_precision"],
    )
    given = {field: words[word] for word, field in _ROLLOUT.items() if word in words}
    calibration = words.get("calibration")
    return RlRequest(
        job,
        named_calibration(
            None if calibration is None else os.fspath(calibration), system.accelerator
        ).with_one_attention(None),
        constants,
        words.get("rollout_accelerators"),
        Parallelism(**given) if given else None,
        {field: words[word] for word, field in _TRAINING.items() if word in words},
        words["max_batch"],
        words.get("sync", ""),
        words.get("transport", ""),
    )


def _lengths(words: Mapping[str, Any], answers: int, spread: float) -> ResponseLengths:
    most = whole("max_length", words["max_length"], 1)
    if "lengths" in words:
        for word in ("mean_length", "length_spread"):
            if word in words:
                raise InvalidInput(f"{word}: the file of lengths says it; leave one of them out")
        return read_lengths(words["lengths"], answers)
    mean = words.get("mean_length", max(1.0, most / 4))
    return lognormal_lengths(answers, mean, most, words.get("length_spread", spread))


@checked_arguments
def rl_runs(runs: str | os.PathLike[str]) -> RlRuns:
    """Predict every measured step, and every measured synchronization of weights, in a table.

    Parameters
    ----------
    runs
        A CSV file, a run in each row; see :func:`topoopt.reinforcement.predict_rl_runs`.

    Returns
    -------
    RlRuns

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    return predict_rl_runs(os.fspath(runs))
