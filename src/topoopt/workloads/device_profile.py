"""The noun DeviceProfile: operator times of a model, measured on one device at many split sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from topoopt.schema.files import Count, Name, OneOf, noun_from
from topoopt.workloads.graph import Operator


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """What tells an operator from another one in a profile: its kind and sizes, not its name or place.

    Fields are those of :class:`~topoopt.workloads.Operator`; ``parameter_bytes`` is the sum of its tensors.
    """

    kind: str
    profile_key: str
    output_bytes_per_sample: int
    forward_flops_per_sample: float
    memory_traffic_bytes_per_sample: float
    parameter_bytes: int


@dataclass(frozen=True, slots=True, order=True)
class PartSize:
    """One part of a split operator, as it runs on one accelerator.

    Attributes
    ----------
    samples : int
        Samples that the accelerator holds; an embedding table's part has those of the whole global batch.
    channel_degree : int
        Channel parts (or row or column parts of a table) that share these samples; 1 for none.
    channel_dim : str
        ``none``, ``out``, ``in``, ``rows`` or ``columns``.
    """

    samples: int
    channel_degree: int = 1
    channel_dim: str = "none"


@dataclass(frozen=True, slots=True)
class PartTime:
    """What one part took.

    Attributes
    ----------
    forward_s, backward_s : float
        Medians.
    forward_spread_s, backward_spread_s : float
        Half of the distance between the quartiles.
    repetitions : int
        Passes that the medians are of.
    memory_bytes : int
        Most memory in use during the two passes.
    """

    forward_s: float
    backward_s: float
    forward_spread_s: float
    backward_spread_s: float
    repetitions: int
    memory_bytes: int


@dataclass(frozen=True, eq=False)
class MeasuredOperator:
    """One operator shape and its measurements.

    Attributes
    ----------
    name : str
        The first operator of the model that has this shape.
    count : int
        Operators of the model that have it.
    shape : mapping of str to int or tuple of int
        Sizes in the words of its kind, such as ``width_in``; for people to read.
    times : mapping of PartSize to PartTime
    failures : mapping of PartSize to str
        Sizes that could not be measured, and why: ``out of memory`` or what the device lacks.
    """

    name: str
    count: int
    signature: OperatorSignature
    shape: Mapping[str, int | tuple[int, ...]]
    times: Mapping[PartSize, PartTime] = field(default_factory=dict)
    failures: Mapping[PartSize, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Where a profile was measured, and how: two profiles with the same facts are one.

    Attributes
    ----------
    kind : str
        ``cpu`` or ``cuda``.
    name : str
        As the device calls itself.
    accelerator : str
        Its name in the catalogue of hardware; empty for one that is not in it.
    torch : str
        Version of PyTorch.
    precision : str
        Number format of the arithmetic.
    threads : int
        Threads of a CPU; 0 for other devices.
    """

    kind: Annotated[str, OneOf(("cpu", "cuda"))]
    name: Name
    accelerator: Annotated[str, Field(default="")]
    torch: Name
    precision: Annotated[str, OneOf(("fp32", "tf32", "bf16", "fp16"))]
    threads: Count = 0


@dataclass(frozen=True, eq=False)
class DeviceProfile:
    """Operator times of one model on one device.

    Attributes
    ----------
    model : str
        The variant of the zoo, the transformer, or the name of the user's own graph.
    hyperparameters : mapping
        Changes to the variant.
    source : str
        ``zoo``, ``operators`` (a file of the user's) or ``transformer``.
    servers, accelerators_per_server, batch_per_accelerator : int
        The job whose split sizes were measured.
    left_out : mapping of str to str
        Operators that were not measured at all, and why.
    """

    model: str
    source: str
    servers: int
    accelerators_per_server: int
    batch_per_accelerator: int
    device: DeviceFacts
    operators: tuple[MeasuredOperator, ...]
    hyperparameters: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def sizes(self) -> int:
        """How many sizes have a time."""
        return sum(len(op.times) for op in self.operators)


def signature_of(op: Operator) -> OperatorSignature:
    """Return what an operator is looked up by."""
    return noun_from(OperatorSignature, op)
