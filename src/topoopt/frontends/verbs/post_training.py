"""``topoopt.rl`` and ``topoopt.finetune``: a step of reinforcement learning, and methods of fine-tuning."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import LARGEST, whole
from topoopt.catalog import compared_by, find_accelerator, reference_interfaces
from topoopt.frontends.verbs.llm import search
from topoopt.frontends.verbs.llm.words import Transformer, calibration_of, model_of, system_of
from topoopt.frontends.verbs.plan import planned
from topoopt.frontends.verbs.pricing import assumed_by, cluster_of, ownership_terms, pricing
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
from topoopt.schema.words import (
    DegreeWords,
    FineTuneWords,
    OwnershipWords,
    PlanWords,
    RlWords,
    ShardingWords,
    checked_arguments,
    checked_words,
    defaults,
    pick,
    refuse_empty,
)
from topoopt.search import (
    KINDS,
    FineTuning,
    TunedWay,
    failed_way,
    kind_words,
    usual_scale,
    way_of_plan,
    way_of_search,
)
from topoopt.transformers import System, usual_precision
from topoopt.workloads.transformer import TransformerModel

_SPLIT = (*DegreeWords.__annotations__, *ShardingWords.__annotations__, "framework")
_MACHINES = ("accelerator", "accelerators_per_server", "intra_server_bandwidth", "latency")
MOST_SERVERS = 128
MOST_TOKENS, MOST_EPOCHS = 1e15, 1e6
"""Largest data set of a fine-tuning, a hundred times all text that models are trained with, and repetitions of it."""
"""Most servers for which networks are compared by default; for more it takes a while."""
_TRAINING = {"train_tensor": "tp", "train_pipeline": "pp", "train_context": "cp", "train_expert": "ep"}
_ROLLOUT = {
    "gen_tensor": "tensor",
    "gen_pipeline": "pipeline",
    "gen_expert": "expert",
    "gen_attention_data": "attention_data",
}


@checked_arguments
def rl(model: Transformer, **words: Unpack[RlWords]) -> RlStep:
    """Estimate the time of a reinforcement learning step by phase, and its bottleneck.

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
        For an unknown option or name, or incompatible degrees.
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
        raise InvalidInput("accelerators: missing; give the number of accelerators")
    request = _request(model, settings)
    job = request.job
    step = plan_step(request)
    running = {
        word: value for word, value in settings.items() if word != "samples"
    }  # of a priced run, to others
    assumed = assumed_by(words, job.system, job.accelerators, "bandwidth")
    step = replace(step, cluster=cluster_of(running, job.system, job.accelerators), assumed=assumed)
    # the networks that a step is put on: those that are named, or the usual ones of several servers
    if "fabrics" in settings:
        names = () if tuple(settings["fabrics"]) == ("none",) else tuple(settings["fabrics"])
    else:
        servers = -(-job.accelerators // job.system.accelerators_per_server)
        names = compared_by("rl") if 2 <= servers <= MOST_SERVERS else ()
    if not names:
        return step
    per_server = min(job.system.accelerators_per_server, job.accelerators)
    terms = ownership_terms(running, job.system.accelerator, per_server)
    return with_fabrics(
        step, tuple(names), terms, pricing(settings), settings.get("sync", ""), settings["seed"]
    )


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
    return RlRequest(
        job,
        calibration_of(words, system.accelerator),
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
        is_said = most != defaults(RlWords)["max_length"]
        return read_lengths(words["lengths"], answers, most if is_said else LARGEST)
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


@checked_arguments
def finetune(
    model: Transformer, *, on_progress: Progress = silent, **words: Unpack[FineTuneWords]
) -> FineTuning:
    """Estimate fine-tuning with LoRA, QLoRA or all weights: parallelism, memory, hours, cost.

    LoRA, QLoRA and full fine-tuning are compared; the requested one comes first.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt finetune`` with underscores: ``accelerators``, ``lora_rank``, ``full``, ``tokens`` …

    Returns
    -------
    FineTuning

    Raises
    ------
    InvalidInput
        For an unknown option or name, or incompatible degrees.
    Infeasible
        If the requested method does not fit into memory.

    Examples
    --------
    >>> import topoopt
    >>> tuned = topoopt.finetune("llama3-8b", accelerators=8)
    >>> [(way.kind, way.trained) for way in tuned.ways]
    [('lora', 41943040), ('qlora', 41943040), ('full', 8030261248)]
    """
    settings = checked_words(words, FineTuneWords)
    refuse_empty(words)
    first = _first(settings)
    if settings.get("accelerators") is None:
        raise InvalidInput("accelerators: missing; give the number of accelerators")
    accelerators = whole("accelerators", settings["accelerators"], 1)
    rank, tokens = whole("lora_rank", settings["lora_rank"], 1), _tokens(settings)
    transformer, system = model_of(model, settings), system_of(settings)
    servers = _servers(accelerators, system)
    if first != "full":
        _check_adapted(transformer, rank)
    elif settings["alone"] and rank != defaults(FineTuneWords)["lora_rank"]:
        raise InvalidInput("lora_rank: full trains all weights and no adapters; leave one of them out")
    batch, sequence = usual_scale(transformer, accelerators)
    batch = whole("global_batch", settings.get("global_batch", batch), 1)
    sequence = whole("seq", settings.get("seq", sequence), 1)
    scale = {"accelerators": accelerators, "global_batch": batch, "seq": sequence, "tokens": tokens}
    if servers > 1:
        scale |= _network(settings, system, servers)
    elif "fabrics" in words or "degree" in words:
        word = "fabrics" if "fabrics" in words else "degree"
        raise InvalidInput(f"{word}: {accelerators} accelerators are in one server, which needs no network")
    ways = []
    for kind in [first, *(() if settings["alone"] else [kind for kind in KINDS if kind != first])]:
        on_progress(f"fine-tuning, {kind}", 0, 0)
        of_kind = kind_words(kind, rank, settings["adapters"])
        try:
            ways.append(_way(kind, transformer, {**scale, **of_kind}, settings, on_progress))
        except (Infeasible, InvalidInput) as error:
            if kind == first:
                raise
            ways.append(failed_way(kind, transformer, of_kind, str(error)))
    return FineTuning(
        transformer.name,
        find_accelerator(system.accelerator).name,
        accelerators,
        servers,
        batch,
        sequence,
        tokens,
        rank,
        settings["adapters"],
        tuple(ways),
        None if servers > 1 else cluster_of({**settings, "tokens": tokens}, system, accelerators),
        assumed_by(words, system, accelerators, "degree", "bandwidth"),
    )


def _first(words: Mapping[str, Any]) -> str:
    if words["full"] and words["qlora"]:
        raise InvalidInput(
            "qlora: full trains all weights, which 4 bits are too few for; leave one of them out"
        )
    return "full" if words["full"] else "qlora" if words["qlora"] else "lora"


def _tokens(words: Mapping[str, Any]) -> float:
    for word, most in (("tokens", MOST_TOKENS), ("epochs", MOST_EPOCHS)):
        if not 0 < words[word] <= most:
            raise InvalidInput(f"{word}: expected a number above 0 and up to {most:g}, got {words[word]:g}")
    if words["tokens"] % 1:
        raise InvalidInput(f"tokens: expected whole tokens, got {words['tokens']}")
    return float(words["tokens"] * words["epochs"])


def _check_adapted(model: TransformerModel, rank: int) -> None:
    """Refuse adapters that a model cannot have."""
    if rank > model.hidden:
        raise InvalidInput(
            f"lora_rank {rank}: is above the hidden size {model.hidden}, so that adapters would be larger than what "
            f"they adapt; at most {model.hidden}"
        )
    if model.recurrent_layers:
        raise InvalidInput(
            f"model: {model.name} has {model.recurrent_layers} layers with a recurrence, whose adapters are not "
            "understood; give full"
        )


def _servers(accelerators: int, system: System) -> int:
    per_server = system.accelerators_per_server
    if accelerators > per_server and accelerators % per_server:
        near = per_server * max(1, round(accelerators / per_server))
        raise InvalidInput(
            f"accelerators {accelerators}: more than one server takes whole servers of {per_server}, nearest: {near}; "
            "or give accelerators_per_server"
        )
    return max(1, accelerators // per_server)


def _network(words: Mapping[str, Any], system: System, servers: int) -> dict[str, Any]:
    degree, bandwidth_bps = reference_interfaces(system.accelerators_per_server, system.network_bandwidth_bps)
    if "degree" in words:
        degree, bandwidth_bps = whole("degree", words["degree"], 1), system.network_bandwidth_bps
    return {"degree": degree, "bandwidth": bandwidth_bps, "seed": words["seed"]}


def _way(
    kind: str,
    model: TransformerModel,
    asked: Mapping[str, Any],
    words: Mapping[str, Any],
    on_progress: Progress,
) -> TunedWay:
    """Return a method as planned, or, for one server, as found by a search in closed form."""
    shared = pick(words, _SPLIT, _MACHINES)
    if "degree" not in asked:
        owned = pick(words, OwnershipWords, ["bandwidth"])
        return way_of_search(kind, asked, search(model, top=1, **{**shared, **owned, **asked}))
    others = [word for word in PlanWords.__annotations__ if word not in asked and word != "adapters"]
    plan_words = {**pick(words, others), **shared}
    names: Sequence[str] | None = words.get("fabrics")
    plan, _ = planned(model, {**plan_words, **asked}, names, on_progress)
    return way_of_plan(kind, asked, plan)
