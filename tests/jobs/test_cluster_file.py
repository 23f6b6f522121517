"""A cluster file says what the network is; what it leaves out is as usual, and every mistake in it is one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs import request_of
from topoopt.search import job_of

WRITTEN = {"servers": 128, "degree": 4, "link_bandwidth": "100 Gbps"}


def cluster_of(folder: Path, text: str) -> ClusterSpec:
    """Return the cluster of a job whose file names a cluster file."""
    (folder / "c.yaml").write_text(text)
    (folder / "job.yaml").write_text("model: dlrm\ncluster: c.yaml\n")
    return job_of(request_of(str(folder / "job.yaml"))).cluster


def test_every_key_is_a_field_of_the_cluster(tmp_path: Path) -> None:
    text = (
        "servers: 12\ndegree: 3\nlink_bandwidth: 25 Gbps\naccelerators_per_server: 1\naccelerator: H100\n"
        "intra_server_bandwidth: 450 GB/s\nlink_latency: 2us\nlinks: directed\n"
    )
    assert cluster_of(tmp_path, text) == ClusterSpec(12, 3, 25e9, 1, "H100", 3600e9, 2e-6, "directed")
    assert cluster_of(tmp_path, json.dumps(WRITTEN)) == ClusterSpec(128, 4, 100e9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"servers": "many"}, 'servers: expected an integer >= 2, got "many"'),
        ({"servers": 1}, "servers: expected an integer >= 2, got 1"),
        ({"degree": 0}, "degree: expected an integer >= 1, got 0"),
        ({"degree": 73}, "degree: a server has at most 72 interfaces, got 73"),
        (
            {"link_bandwidth": 100},
            'link_bandwidth: missing unit in "100"; write for example 100Gbps or 25 GB/s',
        ),
        ({"link_bandwidth": "1e400"}, 'link_bandwidth: larger than anything there is, got "1e400"'),
        ({"links": "simplex"}, 'links: expected duplex or directed, got "simplex"'),
        ({"link_latency": "-1us"}, 'link_latency: must not be negative, got "-1us"'),
        ({"accelerators_per_server": 0}, "accelerators_per_server: expected an integer >= 1, got 0"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cluster_of(tmp_path, json.dumps({**WRITTEN, **change}))
    assert str(caught.value) == f"{tmp_path / 'c.yaml'}: {message}"


def test_unknown_keys_and_accelerators_offer_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r'c\.yaml: unknown key "bandwidth"; did you mean link_bandwidth'):
        cluster_of(tmp_path, json.dumps({**WRITTEN, "bandwidth": "1Gbps"}))
    with pytest.raises(InvalidInput, match=r"c\.yaml: accelerator: unknown name .* did you mean a100"):
        cluster_of(tmp_path, json.dumps({**WRITTEN, "accelerator": "a1000"}))
