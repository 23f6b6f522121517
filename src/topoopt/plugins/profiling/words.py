"""Options of ``profile``: hardware, operators, repetitions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from topoopt.schema.words import Time, Word, panel


@panel("Measurement")
class DeviceWords(TypedDict, total=False):
    """Hardware and repetitions."""

    device: Annotated[str, Word("auto|cpu|cuda", "auto")]
    """Device to measure on; auto: a GPU where there is one."""
    precision: Annotated[str, Word("fp32|tf32|bf16|fp16", "fp32")]
    """Precision of the arithmetic."""
    threads: Annotated[int, Word("N", 0)]
    """CPU threads; 0: as many as PyTorch uses."""
    repetitions: Annotated[int, Word("N", 20)]
    """Passes of which the median is taken."""
    warm_up: Annotated[int, Word("N", 3)]
    """Warm-up passes, which do not count."""
    time_limit: Time
    """Time limit, such as 10min; small sizes are measured first."""


@panel("Operators")
class OperatorWords(TypedDict, total=False):
    """Operators of a model."""

    operators: Annotated[str | Sequence[str], Word("LIST")]
    """Kinds or names of operators to measure, such as dense,top_* (default: all)."""
    variant: str
    """Published variant of the model."""
    set: Annotated[Mapping[str, Any], Word("KEY=VALUE")]
    """Change a hyperparameter."""
    batch_per_accelerator: int
    """Samples per accelerator (default: the model's)."""
    servers: int
    """Number of servers (default: the variant's)."""
    accelerators_per_server: int
    """Accelerators per server (default 4)."""


@panel("Transformers")
class LayerWords(TypedDict, total=False):
    """Operators of a transformer."""

    tensor_parallel: Annotated[str | Sequence[int], Word("LIST")]
    """Tensor parallel degrees to measure (default 1,2,4,8)."""
    micro_batch: Annotated[str | Sequence[int], Word("LIST")]
    """Micro-batch sizes to measure (default 1,2,4,8)."""
    seq: int
    """Sequence length in tokens (default: the model's)."""


class SubjectWords(OperatorWords, LayerWords, total=False):
    """Operators."""


class ProfileWords(DeviceWords, SubjectWords, total=False):
    """All options of :func:`topoopt.profile`."""
