"""What words and files give of a deployment: its pools, and how many replicas each has."""

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.inference import DeploymentPart, EngineSettings, PoolPart, parse_pool, read_deployment
from topoopt.schema.files import validated
from topoopt.schema.words import pick


def given_deployment(words: Mapping[str, Any]) -> DeploymentPart | None:
    """Return what is given of a deployment; None where all of it is searched.

    Raises
    ------
    InvalidInput
        If it is given twice, or only of those that read prompts.
    """
    source = words.get("deployment")
    if source is not None:
        for word in ("mode", "decode", "prefill", "prefill_accelerators"):
            if word in words:
                raise InvalidInput(f"{word}: the deployment says it; leave one of them out")
        if isinstance(source, Mapping):
            found = validated(DeploymentPart, source, "deployment")
            found.check("deployment")
            return found
        return read_deployment(os.fspath(source))
    if "decode" not in words:
        if "prefill" in words:
            raise InvalidInput("prefill: say also who answers, as decode")
        return None
    pools = {word: _pool(words[word], word) for word in ("decode", "prefill") if word in words}
    return DeploymentPart(mode=words.get("mode"), decode=pools["decode"], prefill=pools.get("prefill"))


def _pool(text: str, word: str) -> PoolPart:
    replicas, split = parse_pool(text, word)
    return PoolPart(replicas=replicas, **asdict(split))


def engine_settings(words: Mapping[str, Any]) -> EngineSettings:
    """Return the settings of an engine.

    Raises
    ------
    InvalidInput
        For numbers out of their range, and for adapters of no rank or a rank of no adapters.
    """
    words = {"memory_share": EngineSettings(engine=words["engine"]).share, **words}
    for word, low, high in (
        ("memory_share", 0.0, 1.0),
        ("accepted_tokens", 1.0, 1.0 + words["drafted_tokens"]),
    ):
        if not low < words[word] <= high and not low == words[word] == high:
            raise InvalidInput(f"{word}: expected a number from {low:g} to {high:g}, got {words[word]:g}")
    whole("page_tokens", words["page_tokens"], 1)
    same = [column.name for column in fields(EngineSettings) if column.name in words]
    adapters, rank = (whole(word, words[word], 0) for word in ("lora_adapters", "lora_rank"))
    if bool(adapters) != bool(rank):
        missing, given = ("lora_rank", "lora_adapters") if adapters else ("lora_adapters", "lora_rank")
        raise InvalidInput(
            f"{missing}: missing beside {given} {words[given]}; adapters have a number and a rank"
        )
    return EngineSettings(**pick(words, same), adapters=adapters, adapter_rank=rank)
