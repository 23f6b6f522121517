"""What the zoo says of a model: its published variants, and what builds its operators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from topoopt.workload.graph import OperatorGraph

P = TypeVar("P")

DEDICATED = "the authors' dedicated job of 128 servers"
SHARED = "the authors' job of 16 servers in a shared cluster"
TESTBED = "the authors' testbed job of 12 servers with one accelerator each"


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
