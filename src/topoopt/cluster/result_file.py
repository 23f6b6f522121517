"""A cluster's result to a JSON document and back."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from topoopt.cluster.result import ClusterResult, Distribution, FabricRun, JobRecord
from topoopt.errors import InvalidInput
from topoopt.files import Amount, Strict, validated, write_atomically
from topoopt.provenance import Provenance

FORMAT, VERSION = "topoopt-cluster", 1


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


def result_to_mapping(result: ClusterResult) -> dict[str, Any]:
    """Return the document of ``topoopt cluster run --json`` and of its file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "trace": result.trace,
        "seed": result.seed,
        "servers": result.servers,
        "degree": result.degree,
        "bandwidth_bps": result.bandwidth_bps,
        "provenance": {
            "version": result.provenance.version,
            "seed": result.provenance.seed,
            "inputs": dict(result.provenance.inputs),
        },
        "settings": dict(result.settings),
        "skipped_fabrics": [list(row) for row in result.skipped],
        "fabrics": [_fabric_row(run) for run in result.fabrics],
    }


def write_cluster_result(path: str | Path, result: ClusterResult) -> None:
    """Write a result's file, whole or not at all."""
    write_atomically(path, json.dumps(result_to_mapping(result), indent=1, allow_nan=False) + "\n")


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


def _fabric_row(run: FabricRun) -> dict[str, Any]:
    return {
        "fabric": run.fabric,
        "description": run.description,
        "server_bandwidth_bps": run.server_bandwidth_bps,
        "iteration_time_s": asdict(run.iteration_time_s),
        "completion_time_s": asdict(run.completion_time_s),
        "queueing_s": asdict(run.queueing_s),
        "rewiring_s": asdict(run.rewiring_s),
        "utilization": run.utilization,
        "moves": run.moves,
        "jobs": [_job_row(job) for job in run.jobs],
        "running": [list(row) for row in run.running],
    }


def _job_row(job: JobRecord) -> dict[str, Any]:
    return {
        "id": job.job,
        "model": job.model,
        "servers": list(job.servers),
        "arrival_s": job.arrival_s,
        "start_s": job.start_s,
        "end_s": job.end_s,
        "queueing_s": job.queueing_s,
        "rewiring_s": job.rewiring_s,
        "completion_time_s": job.completion_time_s,
        "iterations": job.iterations,
        "iteration_time_s": {"mean": job.iteration_time_mean_s, "p99": job.iteration_time_p99_s},
        "moves": job.moves,
        "resizes": [list(row) for row in job.resizes],
    }


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
