"""What ``topoopt compare --json`` prints, read again: one job on several fabrics, at one or more fidelities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from topoopt.files import Amount, Positive, Strict, validated
from topoopt.report.fabrics import FabricRow

COMPARISON_FORMAT = "topoopt-comparison"


class TaskModel(Strict):
    """A task of the network whose time differs between simulators."""

    task: int
    name: str
    times_s: dict[str, Amount]
    difference_s: float


class FabricModel(Strict):
    """One fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: Positive
    relative_time: Positive
    simulator: str
    iteration_time_s: Positive
    compute_time_s: Amount
    exposed_communication_s: float
    link_bytes_max: Amount
    bandwidth_tax: Amount
    cost_usd: Amount | None
    proposals: int
    power_w: Amount | None = None
    configuration: str = ""
    configuration_times_s: dict[str, Positive] = Field(default={})
    iteration_times_s: dict[str, Positive] | None = None
    difference: float | None = None
    tasks: list[TaskModel] = Field(default=[])


class ProvenanceModel(Strict):
    """What made the comparison."""

    version: str
    seed: int
    inputs: dict[str, str]


class ComparisonModel(Strict):
    """The whole document."""

    format: Literal["topoopt-comparison"] = "topoopt-comparison"
    model: str
    servers: int
    degree: int
    bandwidth_bps: Positive
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
