"""A cluster's result to a JSON document and back."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from topoopt.cluster.result import FORMAT, VERSION, ClusterResult, Distribution, FabricRun, JobRecord
from topoopt.errors import InvalidInput
from topoopt.files import Amount, Strict, validated, write_atomically
from topoopt.provenance import Provenance


class DistributionModel(Strict):
    """Mean, median, 99th percentile and maximum."""

    mean: Amount
    p50: Amount
    p99: Amount
    max: Amount


class IterationModel(Strict):
    """Iteration times of one job."""

    mean: Amount
    p99: Amount


class JobModel(Strict):
    """One job."""

    id: str
    model: str
    servers: list[int]
    arrival_s: Amount
    start_s: Amount
    end_s: Amount
    queueing_s: Amount
    rewiring_s: Amount
    completion_time_s: Amount
    iterations: Amount
    iteration_time_s: IterationModel
    moves: int = 0
    resizes: list[tuple[Amount, int]] = Field(default=[])


class FabricModel(Strict):
    """The trace on one fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: float
    iteration_time_s: DistributionModel
    completion_time_s: DistributionModel
    queueing_s: DistributionModel
    rewiring_s: DistributionModel
    utilization: float
    moves: int
    jobs: list[JobModel]
    running: list[tuple[Amount, int, float]]


class ProvenanceModel(Strict):
    """What made the result."""

    version: str
    seed: int
    inputs: dict[str, str]


class ClusterModel(Strict):
    """The whole document."""

    format: Literal["topoopt-cluster"]
    version: Literal[1]
    trace: str
    seed: int
    servers: int
    degree: int
    bandwidth_bps: float
    provenance: ProvenanceModel
    settings: dict[str, Any] = Field(default={})
    skipped_fabrics: list[tuple[str, str]] = Field(default=[])
    fabrics: list[FabricModel]


def write_cluster_result(path: str | Path, result: ClusterResult) -> None:
    """Write a result's file, whole or not at all."""
    write_atomically(path, json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n")


def result_from_mapping(document: Any, place: str = "result") -> ClusterResult:
    """Return the result that a document of ``topoopt cluster run --out`` describes.

    Raises
    ------
    InvalidInput
        In one line, if it is no result of a cluster.
    """
    if isinstance(document, dict) and (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        got = f"{document.get('format', 'no format')} {document.get('version', '')}".strip()
        raise InvalidInput(f"{place}: expected format {FORMAT} version {VERSION}, got {got}")
    said = validated(ClusterModel, document, place)
    return ClusterResult(
        said.trace,
        said.seed,
        said.servers,
        said.degree,
        said.bandwidth_bps,
        Provenance(said.provenance.seed, said.provenance.inputs, said.provenance.version),
        tuple(_fabric(row) for row in said.fabrics),
        said.settings,
        tuple(said.skipped_fabrics),
    )


def cluster_result_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    return ClusterModel.model_json_schema()


def _fabric(said: FabricModel) -> FabricRun:
    return FabricRun(
        said.fabric,
        said.description,
        said.server_bandwidth_bps,
        Distribution(**said.iteration_time_s.model_dump()),
        Distribution(**said.completion_time_s.model_dump()),
        Distribution(**said.queueing_s.model_dump()),
        Distribution(**said.rewiring_s.model_dump()),
        said.utilization,
        said.moves,
        tuple(_job(row) for row in said.jobs),
        tuple(said.running),
    )


def _job(said: JobModel) -> JobRecord:
    return JobRecord(
        said.id,
        said.model,
        tuple(said.servers),
        said.arrival_s,
        said.start_s,
        said.end_s,
        said.queueing_s,
        said.rewiring_s,
        said.iterations,
        said.iteration_time_s.mean,
        said.iteration_time_s.p99,
        said.moves,
        tuple(said.resizes),
    )
