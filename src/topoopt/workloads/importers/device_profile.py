"""A profile file (``topoopt profile --out``) and the noun DeviceProfile, back and forth."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from topoopt.base.errors import InvalidInput
from topoopt.base.version import __version__
from topoopt.schema.files import Amount, EveryKey, Name, Strict, noun_from, read_json, validated
from topoopt.workloads.device_profile import (
    DeviceFacts,
    DeviceProfile,
    MeasuredOperator,
    OperatorSignature,
    PartSize,
    PartTime,
)

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
    """Return the noun of a checked document."""
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


def device_profile_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    return DeviceProfileModel.model_json_schema(by_alias=True)


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
        "name": op.name,
        "count": op.count,
        **asdict(op.signature),
        "shape": op.shape,
        "measurements": [{**asdict(size), **asdict(op.times[size])} for size in sorted(op.times)],
        "failures": [{**asdict(size), "reason": op.failures[size]} for size in sorted(op.failures)],
    }
