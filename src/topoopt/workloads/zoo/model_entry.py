"""What the zoo says of a model: its published variants, and what builds its operators."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

from topoopt.workloads.operator_graph import OperatorGraph

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Variant(Generic[P]):
    """One published set of hyper-parameters.

    Attributes
    ----------
    servers : int
        Servers of the job it was published for.
    profiles : tuple of str
        Variants whose measured operator times apply, the most fitting first. A time is taken only for an
        operator of exactly the measured shape.
    """

    name: str
    servers: int
    description: str
    parameters: P
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelEntry(Generic[P]):
    """One model of the zoo: ``build(name, parameters)`` makes its operator graph.

    The variant for 16 servers ends in ``-16``, that for 128 in ``-128``; the first stands for what is missing.
    """

    title: str
    description: str
    build: Callable[[str, P], OperatorGraph]
    variants: tuple[Variant[P], ...]


def published_variants(model: str, parameters: type[P]) -> tuple[Variant[P], ...]:
    """Return the variants of a model in ``variants.toml``; hyper-parameters that are not there have their defaults."""
    return tuple(
        Variant(
            name,
            row["servers"],
            row["description"],
            parameters(**{name: _tuple(value) for name, value in row.get("parameters", {}).items()}),
            tuple(row.get("profiles", ())),
        )
        for name, row in _published()[model].items()
    )


def _tuple(value: Any) -> Any:
    """Return the list of a file as the tuple that hyper-parameters hold."""
    return tuple(value) if isinstance(value, list) else value


@cache
def _published() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("topoopt.workloads.zoo").joinpath("variants.toml").read_text(encoding="utf-8"))
