"""A deployment as a file: its pools, by mode, replicas and degrees, as in input files and in answers."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import Field

from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.limits import whole
from topoopt.inference.deployment import MODES, Deployment, Parallelism, Pool
from topoopt.schema.files import Strict, read_yaml, validated

_POOL = re.compile(r"(?:(\d{1,7})x)?((?:(?:tp|pp|ep|dp)\d{1,7})*)")
_DEGREE = re.compile(r"(tp|pp|ep|dp)(\d+)")
_NAMES = {"tp": "tensor", "pp": "pipeline", "ep": "expert", "dp": "attention_data"}


class PoolPart(Strict):
    """A pool in a file."""

    replicas: int | None = Field(None, ge=1, le=1_000_000)
    tensor: int = Field(1, ge=1, le=1_000_000)
    pipeline: int = Field(1, ge=1, le=1_000_000)
    expert: int = Field(1, ge=1, le=1_000_000)
    attention_data: int = Field(1, ge=1, le=1_000_000)

    @property
    def split(self) -> Parallelism:
        """Split of a replica."""
        return Parallelism(self.tensor, self.pipeline, self.expert, self.attention_data)


class DeploymentPart(Strict):
    """A deployment in a file.

    Where ``replicas`` are not given they are searched. What a step takes at most is not of a pool but of every copy of
    attention in it: ``max_batch`` requests, ``token_budget`` tokens.
    """

    mode: str | None = None
    decode: PoolPart
    prefill: PoolPart | None = None
    max_batch: int | None = Field(None, ge=1, le=1_000_000)
    token_budget: int | None = Field(None, ge=1, le=1_000_000)
    accelerators: int | None = Field(None, ge=1, le=1_000_000)

    @property
    def needed(self) -> int | None:
        """Accelerators of all replicas; None where replicas are searched."""
        pools = [self.decode, *([self.prefill] if self.prefill else [])]
        if any(pool.replicas is None for pool in pools):
            return None
        return sum(pool.split.accelerators * (pool.replicas or 0) for pool in pools)

    def check(self, place: str) -> None:
        """Refuse a mode that does not go with the pools, or a number of accelerators that is not theirs.

        Raises
        ------
        InvalidInput
            With the allowed values.
        """
        if self.mode is not None:
            check_known("mode", self.mode, MODES)
        if self.mode is not None and (self.mode == "disaggregated") != (self.prefill is not None):
            raise InvalidInput(
                f"{place}: mode {self.mode}: a prefill pool of its own is for disaggregated, and disaggregated has one"
            )
        needed = self.needed
        if None not in (self.accelerators, needed) and self.accelerators != needed:
            raise InvalidInput(f"{place}: accelerators {self.accelerators}: its pools have {needed}")


class _DeploymentFile(Strict):
    deployment: DeploymentPart


def read_deployment(path: str) -> DeploymentPart:
    """Return the deployment in a YAML or JSON file: at the top, under ``deployment``, or in an answer of
    ``serving``.

    Raises
    ------
    InvalidInput
        If the file is none; with file and key.
    """
    content = read_yaml(path)
    if isinstance(content, Mapping) and "deployment" in content:
        answer = "deployments" in content and "pareto" in content
        inner = {"deployment": content["deployment"]} if answer else content
        found = validated(_DeploymentFile, inner, path).deployment
    else:
        found = validated(DeploymentPart, content, path)
    found.check(path)
    return found


def deployment_json(one: Deployment, cells: int = 1) -> dict[str, Any]:
    """Return the deployment of some equal cells as a mapping, as a file has it."""
    return {
        "mode": one.mode,
        "prefill": _pool_json(one.prefill, cells) if one.prefill else None,
        "decode": _pool_json(one.decode, cells),
        "max_batch": one.decode.max_batch // one.decode.parallelism.attention_data,
        "token_budget": one.decode.token_budget // one.decode.parallelism.attention_data,
        "accelerators": one.accelerators * cells,
    }


def _pool_json(pool: Pool, cells: int) -> dict[str, int]:
    return {"replicas": pool.replicas * cells, **asdict(pool.parallelism)}


def words_of(deployment: Mapping[str, Any]) -> str:
    """Return a short description of a deployment, prefill before decode.

    Examples
    --------
    >>> words_of(deployment_json(Deployment("chunked", Pool(Parallelism(tensor=8), 2))))
    'chunked, 2 × TP8'
    """
    decode = _pool_words(deployment["decode"])
    if deployment["prefill"] is None:
        return f"{deployment['mode']}, {decode}"
    return f"{_pool_words(deployment['prefill'])} : {decode}"


def _pool_words(pool: Mapping[str, int]) -> str:
    split = Parallelism(*(pool[name] for name in ("tensor", "pipeline", "expert", "attention_data")))
    return f"{pool['replicas']} × {split_words(split)}"


def split_words(one: Parallelism) -> str:
    """Return degrees in short, such as ``TP4 PP2`` or ``DP8 EP8``.

    Examples
    --------
    >>> split_words(Parallelism(4, 2)), split_words(Parallelism(1, 1, 8, 8)), split_words(Parallelism())
    ('TP4 PP2', 'EP8 DP8', 'TP1')
    """
    degrees = {"TP": one.tensor, "PP": one.pipeline, "EP": one.expert, "DP": one.attention_data}
    return " ".join(f"{name}{degree}" for name, degree in degrees.items() if degree > 1) or "TP1"


def parse_pool(text: str, word: str) -> tuple[int | None, Parallelism]:
    """Return the number of replicas (None if not given) and their split; missing degrees are 1.

    Raises
    ------
    InvalidInput
        With the allowed values.

    Examples
    --------
    >>> parse_pool("2xtp8pp2", "decode")
    (2, Parallelism(tensor=8, pipeline=2, expert=1, attention_data=1))
    >>> parse_pool("tp4", "decode")[0] is None
    True
    """
    found = _POOL.fullmatch(text.strip().lower().replace(" ", ""))
    if found is None or not found[0]:
        raise InvalidInput(
            f"{word}: expected how a replica is split, and how many there are if that is known, such as tp8, 4xtp8 or "
            f"2xep16dp16, got {shown(text)}"
        )
    degrees = _DEGREE.findall(found[2])
    names = [name for name, _ in degrees]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{word}: each of tp, pp, ep and dp stands once at most, got {shown(text)}")
    split = Parallelism(
        **{_NAMES[name]: whole(f"{word}: {name}", int(number), 1, 1_000_000) for name, number in degrees}
    )
    replicas = None if found[1] is None else whole(f"{word}: replicas", int(found[1]), 1, 1_000_000)
    return replicas, split


def given_deployment(words: Mapping[str, Any]) -> DeploymentPart | None:
    """Return the given parts of a deployment; None where all of it is searched.

    Raises
    ------
    InvalidInput
        If it is given twice, or only for prefill replicas.
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
