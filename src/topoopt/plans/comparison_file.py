"""What ``topoopt compare --json`` prints, read again: one job on several fabrics, at one or more fidelities."""

from typing import Annotated, Any, Literal

from pydantic import Field

from topoopt.base.errors import InvalidInput
from topoopt.base.provenance import Provenance
from topoopt.plans.comparison import ComparedFabric, Comparison, TaskDifference
from topoopt.plans.model import OutcomePart, ProvenancePart
from topoopt.plans.plan import Outcome
from topoopt.pricing import Ownership, OwnershipTerms
from topoopt.schema.files import Amount, Positive, Strict, noun_from, validated


class FabricModel(OutcomePart):
    """One fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: Positive
    relative_time: Positive
    algorithms: dict[str, int] = Field(default={})
    cost_usd: Amount | None
    proposals: int
    power_w: Amount | None = None
    configuration: str = ""
    configuration_times_s: dict[str, Positive] = Field(default={})
    iteration_times_s: dict[str, Positive] = Field(default={})
    difference: float | None = None
    tasks: tuple[TaskDifference, ...] = ()
    routes: str = ""
    ownership: Ownership | None = None
    variant: str = ""
    label: str = ""
    on_front: bool | None = None
    dominated_by: tuple[str, ...] = ()


class ComparisonModel(Strict):
    """The whole document."""

    format: Literal["topoopt-comparison"] = "topoopt-comparison"
    model: str
    servers: int
    degree: int
    bandwidth_bps: Positive
    simulator: str
    simulators: Annotated[tuple[str, ...], Field(min_length=1)]
    collective: str
    skipped_fabrics: tuple[tuple[str, str], ...]
    seed: int
    prices: str
    provenance: ProvenancePart | None = None
    terms: OwnershipTerms | None = None
    fabrics: list[FabricModel] = Field(min_length=1)


def comparison_from_mapping(document: Any, place: str = "comparison") -> Comparison:
    """Return the comparison that a JSON document describes.

    Raises
    ------
    InvalidInput
        In one line, for a key that is missing, unknown or wrong.
    """
    file = validated(ComparisonModel, document, place)
    _check_fidelities(file, place)
    return noun_from(
        Comparison,
        file,
        fabrics=tuple(
            noun_from(ComparedFabric, row, outcome=noun_from(Outcome, row)) for row in file.fabrics
        ),
        skipped=file.skipped_fabrics,
        provenance=file.provenance and noun_from(Provenance, file.provenance),
    )


def _check_fidelities(file: ComparisonModel, place: str) -> None:
    """Refuse a comparison by several simulators in which a fabric lacks the time by one of them."""
    if len(file.simulators) == 1:
        return
    for index, row in enumerate(file.fabrics):
        missing = [name for name in file.simulators if name not in row.iteration_times_s]
        if missing or row.difference is None:
            what = f"iteration_times_s: no time by {missing[0]}" if missing else "difference: missing"
            raise InvalidInput(f"{place}: fabrics.{index}.{what}; there are several simulators")


def comparison_schema() -> dict[str, Any]:
    """Return the JSON Schema of what ``topoopt compare --json`` prints."""
    return ComparisonModel.model_json_schema()
