"""What words and files give of a deployment: its pools, and how many replicas each has."""

import os
from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.inference import DeploymentPart, PoolPart, parse_pool, read_deployment
from topoopt.schema.files import validated


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
    return PoolPart(
        replicas=replicas,
        tensor=split.tensor,
        pipeline=split.pipeline,
        expert=split.expert,
        attention_data=split.attention_data,
    )
