"""A profile file (``topoopt profile --out``) and the noun DeviceProfile, back and forth."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from topoopt.errors import InvalidInput
from topoopt.files import Amount, Strict, read_json, validated
from topoopt.version import __version__
from topoopt.workload.device_profile import (
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
_Name = Annotated[str, Field(min_length=1)]
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

    reason: _Name = Field(description="out of memory …, or what the device cannot do")


class MeasuredOperatorModel(Strict):
    """One operator shape; all operators of the model that have it share the measurements."""

    name: _Name = Field(description="the first operator of the model that has this shape")
    count: _Count = Field(default=1, description="operators of the model that have it")
    kind: _Name
    profile_key: str = ""
    output_bytes_per_sample: _Amount
    forward_flops_per_sample: Amount
    memory_traffic_bytes_per_sample: Amount
    parameter_bytes: _Amount
    shape: _Sizes = Field(default={}, description="sizes in the words of the kind, such as width_in")
    measurements: list[MeasurementModel] = Field(default=[])
    failures: list[FailureModel] = Field(default=[])


class DeviceModel(Strict):
    """What was measured on; files of different devices, versions or precisions are never mixed."""

    kind: Literal["cpu", "cuda"]
    name: _Name = Field(description="as the device calls itself")
    accelerator: str = Field(default="", description="its name in topoopt hardware; empty for none of those")
    torch: _Name = Field(description="version of PyTorch")
    precision: Literal["fp32", "tf32", "bf16", "fp16"]
    threads: _Amount = Field(default=0, description="threads of a CPU")


class DeviceProfileModel(Strict):
    """A profile: operator times of one model on one device, at many split sizes."""

    schema_name: Literal["topoopt-profile/1"] = Field(alias="schema")
    version: _Name = Field(description="version of topoopt")
    model: _Name = Field(description="variant of the zoo, transformer, or the name of a graph of the user's")
    source: Literal["zoo", "operators", "transformer"]
    hyperparameters: _Sizes = Field(default={})
    servers: _Count
    accelerators_per_server: _Count
    batch_per_accelerator: _Count
    device: DeviceModel
    operators: list[MeasuredOperatorModel]
    left_out: dict[str, str] = Field(default={}, description="operators that were not measured, and why")

    @model_validator(mode="after")
    def _no_shape_twice(self) -> "DeviceProfileModel":
        met: dict[OperatorSignature, str] = {}
        for op in self.operators:
            signature = _signature(op)
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


def device_profile_of(said: DeviceProfileModel) -> DeviceProfile:
    """Return the noun of a checked document."""
    return DeviceProfile(
        model=said.model,
        source=said.source,
        servers=said.servers,
        accelerators_per_server=said.accelerators_per_server,
        batch_per_accelerator=said.batch_per_accelerator,
        device=DeviceFacts(**said.device.model_dump()),
        operators=tuple(_operator(op) for op in said.operators),
        hyperparameters=said.hyperparameters,
        left_out=said.left_out,
    )


def device_profile_to_mapping(profile: DeviceProfile) -> dict[str, Any]:
    """Return the document of a profile file; equal measurements give equal bytes."""
    document = {
        "schema": PROFILE_SCHEMA,
        "version": __version__,
        "model": profile.model,
        "source": profile.source,
        "hyperparameters": dict(profile.hyperparameters),
        "servers": profile.servers,
        "accelerators_per_server": profile.accelerators_per_server,
        "batch_per_accelerator": profile.batch_per_accelerator,
        "device": asdict(profile.device),
        "operators": [_operator_mapping(op) for op in profile.operators],
        "left_out": dict(profile.left_out),
    }
    return DeviceProfileModel.model_validate(document).model_dump(by_alias=True, mode="json")


def device_profile_schema() -> dict[str, Any]:
    """Return the JSON Schema of a profile file."""
    return DeviceProfileModel.model_json_schema(by_alias=True)


def _operator(op: MeasuredOperatorModel) -> MeasuredOperator:
    return MeasuredOperator(
        op.name,
        op.count,
        _signature(op),
        op.shape,
        {_size(row): _time(row) for row in op.measurements},
        {_size(row): row.reason for row in op.failures},
    )


def _operator_mapping(op: MeasuredOperator) -> dict[str, Any]:
    return {
        "name": op.name,
        "count": op.count,
        **asdict(op.signature),
        "shape": dict(op.shape),
        "measurements": [{**asdict(size), **asdict(op.times[size])} for size in sorted(op.times)],
        "failures": [{**asdict(size), "reason": op.failures[size]} for size in sorted(op.failures)],
    }


def _signature(op: MeasuredOperatorModel) -> OperatorSignature:
    return OperatorSignature(
        op.kind,
        op.profile_key,
        op.output_bytes_per_sample,
        op.forward_flops_per_sample,
        op.memory_traffic_bytes_per_sample,
        op.parameter_bytes,
    )


def _size(row: SizeModel) -> PartSize:
    return PartSize(row.samples, row.channel_degree, row.channel_dim)


def _time(row: MeasurementModel) -> PartTime:
    return PartTime(
        row.forward_s,
        row.backward_s,
        row.forward_spread_s,
        row.backward_spread_s,
        row.repetitions,
        row.memory_bytes,
    )
