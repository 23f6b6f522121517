"""The shapes of operators, one noun a kind, and what one channel part of each looks like."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class DenseShape:
    """A linear layer on each of ``positions`` rows of a sample."""

    width_in: int
    width_out: int
    positions: int = 1
    bias: bool = True

    def part(self, degree: int, dim: str) -> "DenseShape":
        """Return the widest of so many parts along ``out`` or ``in``."""
        if dim == "out":
            return replace(self, width_out=math.ceil(self.width_out / degree))
        return replace(self, width_in=math.ceil(self.width_in / degree))


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution of a square kernel over a square feature map of ``side``."""

    channels_in: int
    channels_out: int
    side: int
    kernel: int
    stride: int
    padding: int
    bias: bool = True


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A maximum over square windows of a square feature map of ``side``."""

    channels: int
    side: int
    kernel: int
    stride: int
    padding: int


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """Multi-head attention with its four projections over ``positions`` tokens."""

    hidden: int
    heads: int
    positions: int


@dataclass(frozen=True, slots=True)
class CoreShape:
    """The core of causal attention: scores, softmax and weighted sum of ``heads``, no projections.

    ``head_dim`` is the size of a query's and a key's head, ``value_dim`` that of a value's. Every head has keys
    and values of its own: those of a group are written out, as many implementations do.
    """

    heads: int
    head_dim: int
    value_dim: int
    positions: int

    def part(self, degree: int, dim: str) -> "CoreShape":
        """Return the part of a tensor parallel rank: its share of the heads."""
        return replace(self, heads=math.ceil(self.heads / degree))


@dataclass(frozen=True, slots=True)
class EmbeddingShape:
    """A table of which each sample sums ``bag`` rows, or of which it looks up ``bag`` rows one by one."""

    rows: int
    dim: int
    bag: int
    summed: bool = True

    def part(self, degree: int, dim: str) -> "EmbeddingShape":
        """Return a part of the rows, of which a sample meets its share, or of the columns."""
        if dim == "columns":
            return replace(self, dim=math.ceil(self.dim / degree))
        bag = math.ceil(self.bag / degree) if self.summed else self.bag
        return replace(self, rows=math.ceil(self.rows / degree), bag=bag)


@dataclass(frozen=True, slots=True)
class ConcatShape:
    """Rows of these widths, joined."""

    widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ElementwiseShape:
    """As many numbers a sample in as out; ``inputs`` tensors of them."""

    elements: int
    inputs: int = 1

    def part(self, degree: int, dim: str) -> "ElementwiseShape":
        """Return the share of a tensor parallel rank."""
        return replace(self, elements=math.ceil(self.elements / degree))


@dataclass(frozen=True, slots=True)
class NormShape:
    """A normalization of each of ``positions`` rows of ``width`` numbers."""

    width: int
    positions: int
    kind: str = "rmsnorm"


Shape = (
    DenseShape
    | ConvShape
    | PoolShape
    | AttentionShape
    | CoreShape
    | EmbeddingShape
    | ConcatShape
    | ElementwiseShape
    | NormShape
)


def part_of(shape: Shape, degree: int, dim: str) -> Shape:
    """Return one of ``degree`` channel parts; a shape that cannot be split is returned as it is."""
    if degree == 1 or isinstance(shape, ConvShape | PoolShape | AttentionShape | ConcatShape | NormShape):
        return shape
    return shape.part(degree, dim)


def numbers_of(shape: Shape) -> dict[str, int | tuple[int, ...]]:
    """Return the sizes for a profile file: whole numbers only."""
    words: dict[str, Any] = asdict(shape)
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in words.items()
        if not isinstance(value, str)
    }
