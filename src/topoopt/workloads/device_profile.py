"""DeviceProfile: operator times of a model, measured on one device at many split sizes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from topoopt.base.answers import __version__, fields_of
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import Amount, Count, EveryKey, Name, OneOf, Strict, noun_from, read_json, validated
from topoopt.workloads.operator_graph import Operator
from topoopt.workloads.operator_timer import Curve, OperatorTime, OperatorTimer, curve_of, launch_floor_s


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """Kind and sizes of an operator, which identify it in a profile; its name and place do not matter.

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
    """Measured times of one part.

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
        Sizes that could not be measured, with the reason: ``out of memory`` or a missing feature of the device.
    """

    name: str
    count: int
    signature: OperatorSignature
    shape: Mapping[str, int | tuple[int, ...]]
    times: Mapping[PartSize, PartTime] = field(default_factory=dict)
    failures: Mapping[PartSize, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Device and software of a profile; profiles with the same facts can be merged.

    Attributes
    ----------
    kind : str
        ``cpu`` or ``cuda``.
    name : str
        Name that the device reports.
    accelerator : str
        Name in the hardware catalogue; empty for a device that is not in it.
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
        """Number of sizes with a time."""
        return sum(len(op.times) for op in self.operators)


def signature_of(op: Operator) -> OperatorSignature:
    """Return the key by which an operator is looked up."""
    return noun_from(OperatorSignature, op)


PROFILE_SCHEMA = "topoopt-profile/1"
_Count = Annotated[int, Field(ge=1, le=10**12)]
_Amount = Annotated[int, Field(ge=0, le=10**18)]
_Sizes = dict[str, int | tuple[int, ...]]


class SizeModel(Strict):
    """One part of a split operator, as one accelerator runs it."""

    samples: _Count = Field(description="samples on the accelerator; for embedding tables the global batch")
    channel_degree: _Count = Field(default=1, description="parts that share these samples, along channel_dim")
    channel_dim: Literal["none", "out", "in", "rows", "columns"] = "none"


class MeasurementModel(SizeModel):
    """One measured size."""

    forward_s: Amount = Field(description="median seconds of one forward pass")
    backward_s: Amount = Field(description="median seconds of one backward pass")
    forward_spread_s: Amount = Field(default=0.0, description="half of the distance between the quartiles")
    backward_spread_s: Amount = Field(default=0.0, description="half of the distance between the quartiles")
    repetitions: _Count = Field(default=1, description="passes that the medians are of")
    memory_bytes: _Amount = Field(
        default=0, description="most memory in use (cuda), or the bytes of all its tensors (cpu)"
    )


class FailureModel(SizeModel):
    """One size that could not be measured."""

    reason: Name = Field(description="out of memory …, or what the device cannot do")


class MeasuredOperatorModel(Strict):
    """One operator shape; all operators of the model that have it share the measurements."""

    name: Name = Field(description="the first operator of the model that has this shape")
    count: _Count = Field(default=1, description="operators of the model that have it")
    kind: Name
    profile_key: str = ""
    output_bytes_per_sample: _Amount
    forward_flops_per_sample: Amount
    memory_traffic_bytes_per_sample: Amount
    parameter_bytes: _Amount
    shape: _Sizes = Field(default={}, description="sizes in the words of the kind, such as width_in")
    measurements: list[MeasurementModel] = Field(default=[])
    failures: list[FailureModel] = Field(default=[])


class DeviceProfileModel(Strict):
    """A profile: operator times of one model on one device, at many split sizes."""

    schema_name: Literal["topoopt-profile/1"] = Field(alias="schema")
    version: Name = Field(description="version of topoopt")
    model: Name = Field(description="variant of the zoo, transformer, or the name of a graph of the user's")
    source: Literal["zoo", "operators", "transformer"]
    hyperparameters: _Sizes = Field(default={})
    servers: _Count
    accelerators_per_server: _Count
    batch_per_accelerator: _Count
    device: Annotated[DeviceFacts, EveryKey("accelerator", "threads")]
    operators: list[MeasuredOperatorModel]
    left_out: dict[str, str] = Field(default={}, description="operators that were not measured, and why")

    @model_validator(mode="after")
    def _no_shape_twice(self) -> "DeviceProfileModel":
        met: dict[OperatorSignature, str] = {}
        for op in self.operators:
            signature = noun_from(OperatorSignature, op)
            if signature in met:
                raise ValueError(f"operators {met[signature]} and {op.name} have the same sizes")
            met[signature] = op.name
        return self


def read_device_profile(path: str | Path) -> DeviceProfile:
    """Return the profile of a file.

    Raises
    ------
    InvalidInput
        In one line, if the file is cut short, or is not such a profile.
    """
    return device_profile_from_mapping(read_json(path), str(path))


def is_device_profile(content: object) -> bool:
    """Return whether the content of a JSON file is such a profile, of this version or another."""
    return isinstance(content, dict) and str(content.get("schema", "")).startswith("topoopt-profile")


def device_profile_from_mapping(content: object, place: str) -> DeviceProfile:
    """Return the profile that a JSON document describes; errors as :func:`read_device_profile`."""
    if isinstance(content, dict) and content.get("schema") != PROFILE_SCHEMA:
        got = content.get("schema", "no schema")
        raise InvalidInput(f"{place}: expected a profile with schema {PROFILE_SCHEMA}, got {got}")
    return device_profile_of(validated(DeviceProfileModel, content, place))


def device_profile_of(file: DeviceProfileModel) -> DeviceProfile:
    """Return the profile of a checked document."""
    return noun_from(DeviceProfile, file, operators=tuple(map(_operator, file.operators)))


def device_profile_to_mapping(profile: DeviceProfile) -> dict[str, Any]:
    """Return the document of a profile file; equal measurements give equal bytes."""
    document = {
        **vars(profile),
        "schema": PROFILE_SCHEMA,
        "version": __version__,
        "operators": [_operator_mapping(op) for op in profile.operators],
    }
    return DeviceProfileModel.model_validate(document).model_dump(by_alias=True, mode="json")


def _operator(op: MeasuredOperatorModel) -> MeasuredOperator:
    return noun_from(
        MeasuredOperator,
        op,
        signature=noun_from(OperatorSignature, op),
        times={noun_from(PartSize, row): noun_from(PartTime, row) for row in op.measurements},
        failures={noun_from(PartSize, row): row.reason for row in op.failures},
    )


def _operator_mapping(op: MeasuredOperator) -> dict[str, Any]:
    return {
        **fields_of(op, "name", "count"),
        **asdict(op.signature),
        "shape": op.shape,
        "measurements": [{**asdict(size), **asdict(op.times[size])} for size in sorted(op.times)],
        "failures": [{**asdict(size), "reason": op.failures[size]} for size in sorted(op.failures)],
    }


class DeviceTimer:
    """Times of operators from a :class:`DeviceProfile`, whatever model they are of.

    A time is taken for an operator of exactly a measured shape; any other goes to ``fallback``. Where a channel
    split was measured along two dimensions, the longer time counts: a search's table has one for both. Between
    and beyond the measured numbers of samples see :class:`~topoopt.workloads.operator_timer.Curve`; the floor is the
    shortest time in the profile. Where a channel degree was not measured, the whole operator's time is divided:
    ``floor + (t - floor) / k``.

    Parameters
    ----------
    accelerators_per_server : int
        Accelerators that share the samples of a part; an embedding table's part runs on one.
    """

    def __init__(
        self, profile: DeviceProfile, fallback: OperatorTimer, *, accelerators_per_server: int
    ) -> None:
        self._fallback = fallback
        self._accelerators = accelerators_per_server
        self._curves = {op.signature: _curves(op) for op in profile.operators if op.times}
        self._floor_s = launch_floor_s(time for op in profile.operators for time in op.times.values())

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of a part that holds ``samples`` of the global batch."""
        curves = self._curves.get(signature_of(op), {})
        if not {1, channel_degree} & set(curves):
            return self._fallback.time(op, samples, channel_degree)
        at = samples if op.is_embedding else samples / self._accelerators
        if channel_degree in curves:
            return curves[channel_degree].time(at, self._floor_s, 1)
        return curves[1].time(at, self._floor_s, channel_degree)


def _curves(op: MeasuredOperator) -> dict[int, Curve]:
    longest: dict[int, dict[int, tuple[float, float]]] = {}
    for size, time in op.times.items():
        at_degree = longest.setdefault(size.channel_degree, {})
        forward_s, backward_s = at_degree.get(size.samples, (0.0, 0.0))
        at_degree[size.samples] = max(forward_s, time.forward_s), max(backward_s, time.backward_s)
    return {
        degree: curve_of((float(samples), *times_s) for samples, times_s in rows.items())
        for degree, rows in longest.items()
    }
