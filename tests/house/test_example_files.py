"""The files in ``examples/`` that people start from are read without complaint."""

from pathlib import Path

from topoopt.hardware import read_cluster

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_cluster_file_is_a_cluster() -> None:
    cluster = read_cluster(EXAMPLES / "cluster.yaml")
    assert (cluster.servers, cluster.degree, cluster.link_bandwidth_bps) == (16, 4, 100e9)
