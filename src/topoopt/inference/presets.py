"""Deployments that their owners have described, by name: ``serving/data/deployments.csv``, a word a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topoopt.base.errors import check_known
from topoopt.schema.files import packaged_rows

_WHOLE = ("max_batch", "token_budget")


@dataclass(frozen=True, slots=True)
class DeploymentFigure:
    """What the owner of a deployment has published of it.

    Attributes
    ----------
    name : str
    tokens_per_s : float
        Of one server.
    servers : int
        Of the pool that it is of.
    prompt_tokens : float
    batch : float
        Requests of an accelerator that answers; 0 where it is not said.
    ranks : int
        Accelerators that the experts are spread over.
    seen : bool
        Whether constants of steps were fitted to it among others.
    source : str
    """

    name: str
    tokens_per_s: float
    servers: int
    prompt_tokens: float
    batch: float
    ranks: int
    seen: bool
    source: str


def _known() -> tuple[str, ...]:
    """Return the names of presets."""
    return tuple(dict.fromkeys(row["preset"] for row in packaged_rows("inference", "deployments")))


def deployment_preset(name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the model of a preset and its words as ``topoopt serving`` takes them.

    Raises
    ------
    InvalidInput
        For an unknown name.

    Examples
    --------
    >>> model, words = deployment_preset("deepseek-v3-2025")
    >>> model, words["prefill"], words["decode"], words["two_batch_overlap"]
    ('deepseek-v3', '1xep32dp32', '1xep144dp144', True)
    """
    check_known("preset", name, _known())
    words = {
        row["word"]: _value(row["word"], row["value"])
        for row in packaged_rows("inference", "deployments")
        if row["preset"] == name
    }
    return str(words.pop("model")), words


def deployment_figures(preset: str) -> dict[str, DeploymentFigure]:
    """Return what is published of a preset, by name."""
    check_known("preset", preset, _known())
    return {
        row["figure"]: DeploymentFigure(
            row["figure"],
            float(row["tokens_per_s_a_server"]),
            int(row["servers"]),
            float(row["prompt_tokens"]),
            float(row["batch_per_accelerator"] or 0),
            int(row["ranks"]),
            row["seen"] == "yes",
            row["source"],
        )
        for row in packaged_rows("inference", "deployment_figures")
        if row["preset"] == preset
    }


def _value(word: str, text: str) -> Any:
    if text == "true":
        return True
    if word == "fabrics":
        return tuple(text.split(","))
    if word in _WHOLE:
        return int(text)
    return float(text) if word == "rate" else text
