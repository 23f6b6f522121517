"""What few runs vary of a configuration: a column each, with the words that frameworks have for it.

What a run trained: everything, or low-rank adapters of the rank that its row says or that its framework takes.

Where a row says LoRA and no rank, it is that of its source. NVIDIA's performance recipes of Megatron Bridge have rank
16 on the projections to queries, keys and values alone (``perf_recipes/llama``: ``target_modules = ["linear_qkv"]`` on
``llama3_70b_peft_config``, whose ``dim`` is 16); MLPerf's llama2_70b_lora has rank 16 on attention;
Hugging Face's PEFT has rank 8, there, too.

What a row of published runs leaves unsaid and the recipe says that they were run with.

NVIDIA's page of Megatron Bridge names a container for each row; the recipes of that container say whether all-to-alls
of experts overlap, and whether whole iterations are launched as graphs. ``data/run_recipes.csv`` has them with sources.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.measurements.cells import SIZED, Row, number, text, whole
from topoopt.measurements.training.cells import WORDS, is_hybrid_shard, meaning, switched_on
from topoopt.schema.files import packaged_rows
from topoopt.transformers import System

VERSION = r"(\d\d)\.(\d\d)(?:\.(\d\d))? NeMo"
"""Of a container, in a row's note."""
STACKS = {"megatron-bridge": r"megatron[-_ ]bridge"}
"""How rows name a stack, in their framework, data set or source."""
RECIPE_PLACES = ("framework", "dataset", "source")
_RECIPES = packaged_rows("measurements.training", "run_recipes")
ADAPTED = r"\bq?(lora|peft|dora)\b|adapter"
WHOLE = r"\b(sft|full|fft|pre-?train\w*|fine-?tun\w*|cpt|none)\b"
"""What a column about the task says: adapters, or all weights."""
PLACES = ("framework", "source", "dataset", "note")


def rare_fields(row: Row, tp: int, system: System) -> dict[str, Any]:
    """Return the fields of a configuration that a row says beside its degrees; nothing of those it does not say.

    Hybrid sharding without a number shares out within servers, as PyTorch's HYBRID_SHARD does.

    Raises
    ------
    InvalidInput
        For a word or number that a column cannot have.
    """
    fields = {name: read(row, name) for name, read in _READ.items() if text(row, name)} | adapter_fields(row)
    if is_hybrid_shard(row):
        fields.setdefault("shard", max(system.accelerators_per_server // tp, 1))
    return fields


def _word(row: Row, column: str) -> str:
    plain = re.sub(r"[-_\s]+", "-", text(row, column).lower())
    if plain not in WORDS[column]:
        known = ", ".join(dict.fromkeys(meaning for meaning in WORDS[column].values() if meaning))
        raise InvalidInput(f'{column}: expected one of {known}, got "{text(row, column)}"')
    return WORDS[column][plain]


def _count(row: Row, column: str) -> int:
    return 0 if text(row, column) in ("0", "0.0") else whole(row, column)


def _mean(row: Row, column: str) -> int:
    """Return the whole number next to a mean; ``2k`` is 2,048."""
    return whole(row, column) if SIZED.fullmatch(text(row, column)) else round(number(row, column))


def _switch(row: Row, column: str) -> bool:
    return switched_on(row, column, False)


def _share(row: Row, column: str) -> float:
    """Return a share: 0.5, 50%, or all or nothing by yes or no."""
    cell = text(row, column).lower()
    if cell in WORDS["switch"]:
        return float(WORDS["switch"][cell] == "yes")
    if cell.endswith("%"):
        return number({column: cell[:-1]}, column) / 100
    return number(row, column)


_READ: Mapping[str, Callable[[Row, str], Any]] = {
    "recompute_layers": _count,
    "shard": _count,
    "context": _word,
    "schedule": _word,
    "overlap_experts": _switch,
    "graphs": _switch,
    "exchange": _word,
    "dispatch": _word,
    "weights": _word,
    "gradients": _word,
    "moments": _word,
    "activation_inputs": _word,
    "offload_optimizer": _share,
    "offload_activations": _share,
    "adapter_rank": _count,
    "adapters": _word,
    "document": _mean,
    "document_spread": number,
}


def adapter_fields(row: Row) -> dict[str, Any]:
    """Return the rank and the place of adapters that a row leaves to its framework; nothing where all is trained."""
    column = text(row, "lora").lower()
    if column.isdecimal() and int(column) > 1:
        return {"adapter_rank": int(column)}
    if (
        column
        and not re.search(ADAPTED, column)
        and (re.search(WHOLE, column) or not switched_on(row, "lora", True))
    ):
        return {"adapter_rank": 0}
    said = f"{text(row, 'model')} {text(row, 'note')}".lower()
    if not (column or re.search(r"\bq?lora\b", said)) or text(row, "adapter_rank"):
        return {}
    words = " ".join(text(row, place) for place in PLACES).lower()
    rank, adapters = (meaning("lora", words) or meaning("lora", "peft")).split()
    return {"adapter_rank": int(rank), "adapters": adapters}


def recipe_fields(row: Row, pp: int, vpp: int, ep: int) -> dict[str, Any]:
    """Return the fields of a configuration that the recipe of a row says; nothing where it has none.

    Without chunks of their own, stages have nothing for all-to-alls to overlap with, whatever a recipe asks for.
    """
    found = re.search(VERSION, text(row, "note"))
    if found is None or ep == 1:
        return {}
    version = _version(found.groups())
    said = " ".join(text(row, place) for place in RECIPE_PLACES).lower()
    for recipe in _RECIPES:
        since = _version(recipe["since"].split("."))
        if version >= since and re.search(STACKS[recipe["stack"]], said) and _is_of(recipe, row):
            overlaps = recipe["overlap_experts"] == "1" and (pp == 1 or vpp > 1)
            return {"overlap_experts": overlaps, "graphs": recipe["graphs"] == "1"}
    return {}


def _is_of(recipe: Row, row: Row) -> bool:
    return all(
        re.search(
            rf"\b(?:{recipe[column]})" if column == "gpu" else recipe[column], text(row, column).lower()
        )
        for column in ("model", "gpu", "precision")
    )


def _version(parts: Any) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in (*parts, None, None)[:3])
