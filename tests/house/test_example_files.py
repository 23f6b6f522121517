"""The files in ``examples/`` that people start from are read without complaint."""

from pathlib import Path

from topoopt.finder.rewiring import Wiring
from topoopt.jobs import read_cluster_part, request_of
from topoopt.plans.inventory import completed, read_inventory
from topoopt.workloads import read_device_profile

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_cluster_file_is_a_cluster() -> None:
    part = read_cluster_part(EXAMPLES / "cluster.yaml")
    assert (part["servers"], part["degree"], part["link_bandwidth_bps"]) == (16, 4, 100e9)


def test_the_job_file_is_a_job() -> None:
    request = request_of(str(EXAMPLES / "job.yaml"))
    assert (request.model, request.cluster["servers"]) == ("dlrm", 16)


def test_the_profile_is_a_profile() -> None:
    profile = read_device_profile(EXAMPLES / "profile.json")
    assert (profile.model, profile.device.kind, profile.sizes) == ("dlrm-16", "cpu", 75)


def test_the_transformer_is_a_job() -> None:
    request = request_of(str(EXAMPLES / "transformer.yaml"))
    assert (request.model, request.training["accelerators"]) == ("llama3-8b", 32)


def test_the_room_is_an_inventory_of_16_servers() -> None:
    given = read_inventory(EXAMPLES / "room.yaml")
    assert len(completed(Wiring("duplex", 4), 16, given).cables) == 64
