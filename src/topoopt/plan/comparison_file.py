"""What ``topoopt compare --json`` prints, read again: one job on several fabrics, at one or more fidelities."""

from typing import Any, Literal

from pydantic import Field

from topoopt.errors import InvalidInput
from topoopt.files import Amount, Positive, Strict, validated
from topoopt.plan.comparison import FORMAT, ComparedFabric, Comparison, TaskDifference
from topoopt.plan.plan import Outcome
from topoopt.provenance import Provenance

COMPARISON_FORMAT = FORMAT


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
    algorithms: dict[str, int] = Field(default={})
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
    simulators: list[str] = Field(min_length=1)
    collective: str
    skipped_fabrics: list[tuple[str, str]]
    seed: int
    prices: str
    provenance: ProvenanceModel | None = None
    fabrics: list[FabricModel] = Field(min_length=1)


def comparison_from_mapping(document: Any, place: str = "comparison") -> Comparison:
    """Return the comparison that a JSON document describes.

    Raises
    ------
    InvalidInput
        In one line, for a key that is missing, unknown or wrong.
    """
    read = validated(ComparisonModel, document, place)
    _check_fidelities(read, place)
    made = read.provenance
    return Comparison(
        read.model,
        read.servers,
        read.degree,
        read.bandwidth_bps,
        tuple(read.simulators),
        read.collective,
        tuple(_row(one) for one in read.fabrics),
        tuple(read.skipped_fabrics),
        read.seed,
        read.prices,
        None if made is None else Provenance(made.seed, made.inputs, made.version),
    )


def _check_fidelities(read: ComparisonModel, place: str) -> None:
    """Refuse a comparison by several simulators in which a fabric lacks the time by one of them."""
    if len(read.simulators) == 1:
        return
    for index, row in enumerate(read.fabrics):
        missing = [name for name in read.simulators if name not in (row.iteration_times_s or {})]
        if missing or row.difference is None:
            what = f"iteration_times_s: no time by {missing[0]}" if missing else "difference: missing"
            raise InvalidInput(f"{place}: fabrics.{index}.{what}; there are several simulators")


def _row(row: FabricModel) -> ComparedFabric:
    return ComparedFabric(
        row.fabric,
        row.description,
        row.server_bandwidth_bps,
        Outcome(
            row.simulator,
            row.iteration_time_s,
            row.compute_time_s,
            row.exposed_communication_s,
            row.link_bytes_max,
            row.bandwidth_tax,
            row.algorithms,
        ),
        row.cost_usd,
        row.proposals,
        row.configuration,
        row.configuration_times_s,
        row.iteration_times_s or {},
        row.difference,
        tuple(TaskDifference(task.task, task.name, task.times_s, task.difference_s) for task in row.tasks),
    )


def comparison_schema() -> dict[str, Any]:
    """Return the JSON Schema of what ``topoopt compare --json`` prints."""
    return ComparisonModel.model_json_schema()
