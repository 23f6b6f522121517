"""OperatorGraph: a model as operators with exact bytes, also read from a YAML or CSV file."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainSerializer

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST, MOST, whole
from topoopt.schema.files import Amount, Count, OneOf

SPLITS = ("batch", "out", "in", "rows", "columns")
"""Dimensions along which an operator may be split: the batch, output channels, input channels, and the rows or
columns of an embedding table."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter tensor; each is AllReduced on its own."""

    name: str
    size_bytes: Count


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the model.

    Attributes
    ----------
    kind : str
        ``embedding``, ``dense``, ``conv2d``, ``attention``, ``concat``, ``add``, ``multiply``, ``relu``, ``pool``,
        ``flatten``, ``softmax``, or a word of the user's in an imported graph.
    inputs : tuple of int
        Indices of the producers in :attr:`OperatorGraph.operators`; all smaller than its own.
    output_bytes_per_sample : int
        Activation that each consumer reads, per sample of the batch.
    forward_flops_per_sample : float
        Floating-point operations of the forward pass; the backward pass costs twice as many where there are
        weights or two inputs, else as many.
    memory_traffic_bytes_per_sample : float
        Bytes moved to and from accelerator memory in the forward pass, without the weights.
    splits : frozenset of str
        Names in :data:`SPLITS` that are allowed.
    profile_key : str
        The operator's name in a measured profile; empty where it has none.
    forward_time_s, backward_time_s : float or None
        Measured times of the whole operator over ``timed_samples`` samples on one server, for operators
        imported with times of their own.
    timed_samples : int
        Samples that the two times were measured with; 0 without measured times.
    """

    name: str
    kind: str
    inputs: tuple[Count, ...]
    weights: tuple[Weight, ...]
    output_bytes_per_sample: Count
    forward_flops_per_sample: Amount = 0.0
    memory_traffic_bytes_per_sample: Amount = 0.0
    splits: Annotated[frozenset[Annotated[str, OneOf(SPLITS)]], PlainSerializer(sorted)] = frozenset(
        {"batch"}
    )
    profile_key: str = ""
    forward_time_s: Amount | None = None
    backward_time_s: Amount | None = None
    timed_samples: Count = 0

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameter tensors."""
        return sum(weight.size_bytes for weight in self.weights)

    @property
    def is_embedding(self) -> bool:
        """Whether its weights are placed instead of replicated."""
        return self.kind == "embedding"


@dataclass(frozen=True, slots=True)
class OperatorGraph:
    """A model: operators in an order in which every producer precedes its consumers."""

    name: str
    operators: tuple[Operator, ...]
    batch_per_accelerator: int

    def __post_init__(self) -> None:
        place = f"model {self.name}"
        whole(f"{place}: batch_per_accelerator", self.batch_per_accelerator, 1, MOST["batch_per_accelerator"])
        if len(self.operators) > MOST["operators"]:
            raise InvalidInput(f"{place}: {len(self.operators)} operators, allowed are {MOST['operators']}")
        for index, op in enumerate(self.operators):
            for what in ("parameter_bytes", "output_bytes_per_sample"):
                whole(f"{place}: operator {op.name}: {what}", getattr(op, what), 0, LARGEST)
            if any(not 0 <= producer < index for producer in op.inputs):
                raise InvalidInput(
                    f"model {self.name}: operator {op.name}: an input must stand before it in the list"
                )

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters, embedding tables included."""
        return sum(op.parameter_bytes for op in self.operators)

    @property
    def dense_parameter_bytes(self) -> int:
        """Bytes that data parallelism AllReduces: all parameters but the embedding tables'."""
        return sum(op.parameter_bytes for op in self.operators if not op.is_embedding)
