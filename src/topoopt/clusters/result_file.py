"""A cluster's result to a JSON document and back."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from topoopt.base.errors import InvalidInput
from topoopt.base.provenance import Provenance
from topoopt.clusters.result import FORMAT, VERSION, ClusterResult, FabricRun
from topoopt.schema.files import EveryKey, Strict, noun_from, validated, write_atomically


class ClusterModel(Strict):
    """The whole document."""

    format: Literal["topoopt-cluster"]
    version: Literal[1]
    trace: str
    seed: int
    servers: int
    degree: int
    bandwidth_bps: float
    provenance: Annotated[Provenance, EveryKey()]
    settings: dict[str, Any] = Field(default={})
    skipped_fabrics: tuple[tuple[str, str], ...] = ()
    fabrics: tuple[FabricRun, ...]


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
    file = validated(ClusterModel, document, place)
    return noun_from(ClusterResult, file, skipped=file.skipped_fabrics)


def cluster_result_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    return ClusterModel.model_json_schema()
