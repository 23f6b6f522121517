"""The words of ``profile``: which hardware, which operators, how often."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from topoopt.schema.words import Time, Word, panel


@panel("How it is measured")
class DeviceWords(TypedDict, total=False):
    """On what, and how often."""

    device: Annotated[str, Word("auto|cpu|cuda", "auto")]
    """auto: a GPU where there is one."""
    precision: Annotated[str, Word("fp32|tf32|bf16|fp16", "fp32")]
    """Of the arithmetic."""
    threads: Annotated[int, Word("N", 0)]
    """Of a CPU; 0: as many as PyTorch takes."""
    repetitions: Annotated[int, Word("N", 20)]
    """Passes that a median is of."""
    warm_up: Annotated[int, Word("N", 3)]
    """Passes before those, not counted."""
    time_limit: Time
    """Such as 10min; small sizes come first."""


@panel("What is measured")
class OperatorWords(TypedDict, total=False):
    """What is measured of a model."""

    operators: Annotated[str | Sequence[str], Word("LIST")]
    """Only these kinds or names, such as dense,top_*."""
    variant: str
    """Published variant of the model."""
    set: Annotated[Mapping[str, Any], Word("KEY=VALUE")]
    """Change a hyper-parameter."""
    batch_per_accelerator: int
    """Samples; the model's own."""
    servers: int
    """Servers; the variant's."""
    accelerators_per_server: int
    """Accelerators of a server; 4."""


@panel("Transformers")
class LayerWords(TypedDict, total=False):
    """What is measured of a transformer."""

    tensor_parallel: Annotated[str | Sequence[int], Word("LIST")]
    """Degrees; 1,2,4,8."""
    micro_batch: Annotated[str | Sequence[int], Word("LIST")]
    """Sequences; 1,2,4,8."""
    seq: int
    """Tokens of a sequence; the model's own."""


class SubjectWords(OperatorWords, LayerWords, total=False):
    """What is measured."""


class ProfileWords(DeviceWords, SubjectWords, total=False):
    """All words that :func:`topoopt.profile` takes."""
