"""Which fabric a simulation runs on, with and without words about it."""

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.verbs.simulate import _job
from topoopt.simulation import FabricChoice, SimulatedJob, named_fabric, own_fabric


@pytest.fixture(scope="module")
def job() -> SimulatedJob:
    return _job(topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0), 1, {})


def test_a_plan_runs_on_its_own_fabric_unless_another_is_named(job: SimulatedJob) -> None:
    assert job.plan is not None
    assert own_fabric(job, FabricChoice()) is job.plan.fabric
    assert own_fabric(job, FabricChoice("topoopt")) is job.plan.fabric
    for choice in (FabricChoice("torus"), FabricChoice(strides=(1,)), FabricChoice("topoopt", degree=4)):
        assert own_fabric(job, choice) is None


def test_a_named_fabric_has_the_ports_of_the_plan_where_nothing_is_asked(job: SimulatedJob) -> None:
    fabric = named_fabric([job], job.graph.groups, FabricChoice("ideal-switch", servers=12), 0, False)
    assert fabric.topology.servers == 12
    assert fabric.topology.bandwidth_bps[fabric.topology.src == 0].sum() == 2 * 100e9


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (FabricChoice(bandwidth_bps=1e9), "bandwidth: plan would run on its own fabric"),
        (FabricChoice(latency_s=1e-6), "latency: plan would run on its own fabric"),
    ],
)
def test_words_about_another_fabric_want_its_name(
    job: SimulatedJob, choice: FabricChoice, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        own_fabric(job, choice)


def test_a_word_is_for_the_fabrics_that_know_it(job: SimulatedJob) -> None:
    choice = FabricChoice("torus", reconfiguration_delay_s=1e-3)
    with pytest.raises(InvalidInput, match="reconfiguration_delay: not for the fabric torus; it is for"):
        named_fabric([job], job.graph.groups, choice, 0, False)
