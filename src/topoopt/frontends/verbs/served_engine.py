"""What the words of a service say of its engine: precisions, pages, speculative decoding, LoRA adapters."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.inference import EngineSettings
from topoopt.schema.words import pick


def engine_settings(words: Mapping[str, Any]) -> EngineSettings:
    """Return the settings of an engine.

    Raises
    ------
    InvalidInput
        For numbers out of their range, and for adapters of no rank or a rank of no adapters.
    """
    for word, low, high in (
        ("memory_share", 0.0, 1.0),
        ("accepted_tokens", 1.0, 1.0 + words["drafted_tokens"]),
    ):
        if not low < words[word] <= high and not low == words[word] == high:
            raise InvalidInput(f"{word}: expected a number from {low:g} to {high:g}, got {words[word]:g}")
    whole("page_tokens", words["page_tokens"], 1)
    same = [column.name for column in fields(EngineSettings) if column.name in words]
    adapters, rank = _adapters(words)
    return EngineSettings(**pick(words, same), adapters=adapters, adapter_rank=rank)


def _adapters(words: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many adapters are served together, and their rank."""
    adapters, rank = (whole(word, words[word], 0) for word in ("lora_adapters", "lora_rank"))
    if bool(adapters) != bool(rank):
        missing, given = ("lora_rank", "lora_adapters") if adapters else ("lora_adapters", "lora_rank")
        raise InvalidInput(
            f"{missing}: missing beside {given} {words[given]}; adapters have a number and a rank"
        )
    return adapters, rank
