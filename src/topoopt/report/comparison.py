"""What ``topoopt compare --json`` prints, read again: one job on several fabrics, at one or more fidelities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from topoopt.files import validated
from topoopt.report.fabrics import FabricRow

COMPARISON_FORMAT = "topoopt-comparison"

_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Signed = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TaskModel(_Strict):
    """A task of the network whose time differs between simulators."""

    task: int
    name: str
    times_s: dict[str, _Amount]
    difference_s: _Signed


class FabricModel(_Strict):
    """One fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: _Positive
    relative_time: _Positive
    simulator: str
    iteration_time_s: _Positive
    compute_time_s: _Amount
    exposed_communication_s: _Signed
    link_bytes_max: _Amount
    bandwidth_tax: _Amount
    cost_usd: _Amount | None
    proposals: int
    power_w: _Amount | None = None
    configuration: str = ""
    configuration_times_s: dict[str, _Positive] = {}
    iteration_times_s: dict[str, _Positive] | None = None
    difference: _Signed | None = None
    tasks: list[TaskModel] = []


class ProvenanceModel(_Strict):
    """What made the comparison."""

    version: str
    seed: int
    inputs: dict[str, str]


class ComparisonModel(_Strict):
    """The whole document."""

    format: Literal["topoopt-comparison"] = "topoopt-comparison"
    model: str
    servers: int
    degree: int
    bandwidth_bps: _Positive
    simulator: str
    simulators: list[str]
    collective: str
    skipped_fabrics: list[tuple[str, str]]
    seed: int
    prices: str
    provenance: ProvenanceModel | None = None
    fabrics: list[FabricModel] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One job on several fabrics, the plan's own first.

    Attributes
    ----------
    iteration_times_s : mappings by simulator
        One for each fabric; empty where a single simulator was asked.
    settings : mapping
        What it was made with, in words.
    """

    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    fabrics: tuple[FabricRow, ...]
    iteration_times_s: tuple[Mapping[str, float], ...]
    skipped: tuple[tuple[str, str], ...]
    settings: Mapping[str, str]


def comparison_from_mapping(document: Any, place: str = "comparison") -> Comparison:
    """Return the comparison that a JSON document describes.

    Raises
    ------
    InvalidInput
        In one line, for a key that is missing, unknown or wrong.
    """
    said = validated(ComparisonModel, document, place)
    made = said.provenance
    settings = {
        "simulator": ", ".join(said.simulators),
        "collective": said.collective,
        "prices": said.prices,
        "seed": str(said.seed),
        **({"topoopt": made.version} if made else {}),
        **({f"input {name}": value for name, value in sorted(made.inputs.items())} if made else {}),
    }
    return Comparison(
        said.model,
        said.servers,
        said.degree,
        said.bandwidth_bps,
        tuple(_row(one) for one in said.fabrics),
        tuple(one.iteration_times_s or {} for one in said.fabrics),
        tuple(said.skipped_fabrics),
        settings,
    )


def _row(said: FabricModel) -> FabricRow:
    return FabricRow(
        said.fabric,
        said.description,
        said.server_bandwidth_bps,
        said.iteration_time_s,
        said.compute_time_s,
        said.exposed_communication_s,
        said.link_bytes_max,
        said.bandwidth_tax,
        said.cost_usd,
    )


def comparison_schema() -> dict[str, Any]:
    """Return the JSON Schema of what ``topoopt compare --json`` prints."""
    return ComparisonModel.model_json_schema()
