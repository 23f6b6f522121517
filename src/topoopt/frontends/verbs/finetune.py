"""``topoopt.finetune``: fine-tuning a transformer, all of it or by adapters, split, wired and priced side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import whole
from topoopt.base.progress import Progress, silent
from topoopt.catalog import find_accelerator
from topoopt.frontends.verbs.llm import search
from topoopt.frontends.verbs.llm.words import Transformer, model_of, system_of
from topoopt.frontends.verbs.plan import planned
from topoopt.frontends.verbs.pricing import cluster_of
from topoopt.schema.words import (
    FineTuneWords,
    OwnershipWords,
    PlanWords,
    checked_arguments,
    checked_words,
    pick,
    refuse_empty,
)
from topoopt.search import (
    KINDS,
    FineTuning,
    TunedWay,
    failed_way,
    kind_words,
    usual_degree,
    usual_scale,
    way_of_plan,
    way_of_search,
)
from topoopt.transformers import System
from topoopt.workloads.transformer import TransformerModel

_SPLIT = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch", "recompute", "zero", "framework")
_MACHINES = ("accelerator", "accelerators_per_server", "intra_server_bandwidth", "latency")


@checked_arguments
def finetune(
    model: Transformer, *, on_progress: Progress = silent, **words: Unpack[FineTuneWords]
) -> FineTuning:
    """Say what fine-tuning takes, by adapters or of all weights: split, memory, hours, dollars.

    LoRA, QLoRA and full fine-tuning stand beside each other; the one that is asked for comes first.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt finetune`` with underscores: ``accelerators``, ``lora_rank``, ``full``, ``tokens`` …

    Returns
    -------
    FineTuning

    Raises
    ------
    InvalidInput
        For an unknown word or name, or degrees that do not go together.
    Infeasible
        If the way that is asked for does not fit into memory.

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
        raise InvalidInput("accelerators: say how many accelerators there are")
    accelerators = whole("accelerators", settings["accelerators"], 1)
    rank, tokens = whole("lora_rank", settings["lora_rank"], 1), _tokens(settings)
    transformer, system = model_of(model, settings), system_of(settings)
    servers = _servers(accelerators, system)
    if first != "full":
        _check_adapted(transformer, rank)
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
    )


def _first(words: Mapping[str, Any]) -> str:
    """Return the way that is asked for."""
    if words["full"] and words["qlora"]:
        raise InvalidInput(
            "qlora: full trains all weights, which 4 bits are too few for; leave one of them out"
        )
    return "full" if words["full"] else "qlora" if words["qlora"] else "lora"


def _tokens(words: Mapping[str, Any]) -> float:
    for word in ("tokens", "epochs"):
        if not 0 < words[word] < float("inf"):
            raise InvalidInput(f"{word}: expected a number above 0, got {words[word]:g}")
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
    degree, bandwidth_bps = usual_degree(system, servers)
    if "degree" in words:
        given = whole("degree", words["degree"], 1)
        degree, bandwidth_bps = given, bandwidth_bps * degree / given
    return {"degree": degree, "bandwidth": bandwidth_bps, "seed": words["seed"]}


def _way(
    kind: str,
    model: TransformerModel,
    asked: Mapping[str, Any],
    words: Mapping[str, Any],
    on_progress: Progress,
) -> TunedWay:
    """Return a way as a plan has it, or of one server as a search in closed form has it."""
    shared = pick(words, _SPLIT, _MACHINES)
    if "degree" not in asked:
        owned = pick(words, OwnershipWords, ["bandwidth"])
        return way_of_search(kind, asked, search(model, top=1, **{**shared, **owned, **asked}))
    others = [word for word in PlanWords.__annotations__ if word not in asked and word != "adapters"]
    plan_words = {**pick(words, others), **shared}
    names: Sequence[str] | None = words.get("fabrics")
    plan, _ = planned(model, {**plan_words, **asked}, names, on_progress)
    return way_of_plan(kind, asked, plan)
