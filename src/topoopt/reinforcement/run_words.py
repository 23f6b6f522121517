"""What a table of measured steps says in words: models, policies, transports, numbers."""

import re
from collections.abc import Mapping
from functools import cache

from topoopt.base.errors import InvalidInput
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

Row = Mapping[str, str]

TRANSPORTS = {
    "broadcast": "checkpoint-engine",
    "p2p": "checkpoint-engine",
    "checkpoint engine": "nccl",
    "plain": "plain",
    "gloo": "gloo",
    "vllm native, nccl": "nccl",
    "rdma": "rdma",
}
"""The policy of a row that measures how weights are brought over, and what is predicted with."""


def whole(row: Row, column: str) -> int | None:
    """Return a cell as a whole number; None where it is empty.

    Raises
    ------
    InvalidInput
        If it is none, or below 1.
    """
    value = number(row, column)
    if value is None:
        return None
    if value != int(value) or value < 1:
        raise InvalidInput(f'{column}: expected an integer >= 1, got "{row[column]}"')
    return int(value)


def number(row: Row, column: str) -> float | None:
    """Return a cell as a number above 0; None where it is empty."""
    text = (row.get(column) or "").strip().replace(",", "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise InvalidInput(f'{column}: expected a number above 0, got "{row[column]}"')
    return value


def needed(row: Row, column: str) -> int:
    """Return a whole number that a prediction needs.

    Raises
    ------
    InvalidInput
        If the row does not say it.
    """
    value = whole(row, column)
    if value is None:
        raise InvalidInput(f"{column}: is not stated")
    return value


def run_model(row: Row) -> TransformerModel:
    """Return the transformer that a row names, formats in parentheses left out.

    Raises
    ------
    InvalidInput
        If there is none of this name.
    """
    word = re.sub(r"\s*\(.*?\)", "", row.get("model") or "").strip()
    if not word:
        raise InvalidInput("model: is not stated")
    return find_transformer(_names().get(word.lower(), word))


def run_policy(row: Row) -> tuple[str, float]:
    """Return the policy of a row, and its staleness.

    Raises
    ------
    InvalidInput
        If its words are not known.
    """
    word = (row.get("policy") or "").lower()
    stale = re.search(r"staleness\s*([\d.]+)", word)
    if stale or "async" in word:
        return "asynchronous", float(stale[1]) if stale else 0.5
    if "off" in word:
        return "one-step-off", 0.5
    if "on policy" in word or "coloc" in word:
        return "colocated", 0.5
    raise InvalidInput(f'policy: expected on policy, colocated, one step off or staleness X, got "{word}"')


def sent_bytes(row: Row) -> float:
    """Return the bytes of all weights of a row, of a model by name or by a size such as ``70B``, in its precision."""
    word = row.get("model") or ""
    precision = (row.get("precision") or "").lower() or ("fp8" if "fp8" in word.lower() else "bf16")
    if precision not in BYTES_PER_ELEMENT:
        raise InvalidInput(f'precision: expected one of {", ".join(BYTES_PER_ELEMENT)}, got "{precision}"')
    size = re.fullmatch(r"([\d.]+)\s*([BT])", word.strip())
    if size is not None:
        parameters = float(size[1]) * {"B": 1e9, "T": 1e12}[size[2]]
    else:
        parameters = float(count_parameters(run_model(row)).total)
    return parameters * BYTES_PER_ELEMENT[precision]


def run_transport(row: Row) -> str:
    """Return the transport of a row that measures how weights are brought over.

    Raises
    ------
    InvalidInput
        If its words are not known.
    """
    word = (row.get("policy") or "").lower().strip()
    if word not in TRANSPORTS:
        raise InvalidInput(f'policy: expected one of {", ".join(TRANSPORTS)}, got "{word}"')
    return TRANSPORTS[word]


@cache
def _names() -> dict[str, str]:
    return {row["written"]: row["name"] for row in packaged_rows("reinforcement", "model_names")}
