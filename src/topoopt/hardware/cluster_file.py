"""A cluster from a YAML file, or from the ``cluster`` part of a larger one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from topoopt.errors import InvalidInput
from topoopt.files import BandwidthText, Strict, TimeText, read_yaml, validated
from topoopt.hardware.cluster import ClusterSpec


class ClusterModel(Strict):
    """The keys of a cluster file; bandwidths and times carry their units: ``link_bandwidth: 100 Gbps``."""

    servers: int = Field(ge=2)
    degree: int = Field(ge=1)
    link_bandwidth: BandwidthText
    accelerators_per_server: int = Field(default=4, ge=1)
    accelerator: str = "a100"
    intra_server_bandwidth: BandwidthText = 200e9
    link_latency: TimeText = 1e-6
    links: Literal["duplex", "directed"] = "duplex"


def cluster_from_mapping(mapping: Mapping[str, Any], place: str) -> ClusterSpec:
    """Return the cluster that a file's keys describe.

    Raises
    ------
    InvalidInput
        In one line: ``cluster.yaml: servers: expected an integer >= 2, got "many"``.

    Examples
    --------
    >>> cluster_from_mapping({"servers": 12, "degree": 4, "link_bandwidth": "25 Gbps"}, "x").server_bandwidth_bps
    100000000000.0
    """
    model = validated(ClusterModel, mapping, place)
    try:
        return ClusterSpec(
            servers=model.servers,
            degree=model.degree,
            link_bandwidth_bps=model.link_bandwidth,
            accelerators_per_server=model.accelerators_per_server,
            accelerator=model.accelerator,
            intra_server_bandwidth_bps=model.intra_server_bandwidth,
            link_latency_s=model.link_latency,
            links=model.links,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def read_cluster(path: str | Path) -> ClusterSpec:
    """Return the cluster of a YAML file; errors as :func:`cluster_from_mapping` and
    :func:`topoopt.files.read_yaml`.
    """
    return cluster_from_mapping(read_yaml(path), str(path))
