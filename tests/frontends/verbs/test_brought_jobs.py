"""Jobs that people bring: programs, recordings and matrices of accelerators, wherever a model is taken."""

from pathlib import Path

import numpy as np
import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json
from topoopt.base.errors import InvalidInput, Note
from topoopt.catalog import ClusterSpec
from topoopt.jobs import OperatorsWork, TrafficWork, job_traffic, traffic_job
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, traffic_from_matrix

EXAMPLES = Path(__file__).parents[3] / "examples"
RECOMMENDER = str(EXAMPLES / "models" / "recommender.pt2")
LOG, TRACE = (str(EXAMPLES / "recorded" / name) for name in ("nccl.log", "rank0.trace.json"))


def test_a_program_is_planned_and_its_plan_is_read_again(tmp_path: Path) -> None:
    plan = topoopt.plan(RECOMMENDER, servers=8, degree=2, fabrics=(), budget=20, batch_per_accelerator=512)
    assert isinstance(plan.job.work, OperatorsWork)
    assert plan.job.global_batch == 512 * 8 * 4
    assert plan.traffic().allreduce_bytes > 0
    assert dict(plan.origin)["counted"].startswith("a program of torch.export: 17 operators")
    assert set(plan.provenance.inputs) == {"recommender.pt2"}
    topoopt.write_plan(tmp_path / "plan.json", plan)
    again = topoopt.read_plan(tmp_path / "plan.json")
    assert topoopt.simulate(again).iteration_time_s == pytest.approx(topoopt.simulate(plan).iteration_time_s)


def test_data_parallel_gradients_are_the_dense_parameters() -> None:
    moved = topoopt.traffic(RECOMMENDER, servers=8, degree=2)
    dense = 4 * sum(
        a * b + b for a, b in ((13, 512), (512, 256), (256, 64), (145, 1024), (1024, 1024), (1024, 1))
    )
    assert moved.traffic.allreduce == (AllReduceGroup(tuple(range(8)), dense),)


def test_a_job_file_names_a_program(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(Path(RECOMMENDER).read_bytes())
    (tmp_path / "job.yaml").write_text(
        "program: net.pt2\nset: {samples: 128}\ncluster: {servers: 4, degree: 2}\n"
    )
    moved = topoopt.traffic(tmp_path / "job.yaml")
    assert (moved.model, moved.traffic.servers) == ("net", 4)
    (tmp_path / "job.yaml").write_text("program: net.pt2\nset: {sampels: 128}\n")
    with pytest.raises(
        InvalidInput, match=r"set: sampels: of a program of torch\.export known are samples and unknown"
    ):
        topoopt.traffic(tmp_path / "job.yaml")


def test_a_sweep_has_programs_among_its_models(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(Path(RECOMMENDER).read_bytes())
    sweep = "models: net.pt2\nservers: 4\ndegree: 2\nbudget: 0\nbaseline_budget: 0\nfabrics: topoopt\n"
    (tmp_path / "sweep.yaml").write_text(sweep)
    topoopt.sweep(tmp_path / "sweep.yaml", processes=1)
    (row,) = topoopt.results(tmp_path / "sweep.duckdb", columns=("status", "variant", "servers")).to_json()[
        "rows"
    ]
    assert row == {"status": "ok", "variant": "net", "servers": 4}


def test_operators_of_a_program_can_be_measured() -> None:
    found = topoopt.profile_subject(RECOMMENDER, servers=8)
    assert found.to_json()["model"] == "recommender"


def test_a_log_is_planned_with_its_rings(tmp_path: Path, printed: Printed) -> None:
    plan = topoopt.plan(LOG, degree=2, set={"iterations": 2}, fabrics=("ideal-switch",))
    assert isinstance(plan.job.work, TrafficWork)
    assert (plan.job.cluster.servers, plan.job.cluster.accelerators_per_server) == (2, 4)
    assert plan.traffic().allreduce_bytes == 9_437_184
    assert set(plan.fabric.rings) == {(0, 1)}
    # two cables: 4 MB, and M bytes of an AllReduce of two, leave server 0
    assert plan.outcome.iteration_time_s >= (4e6 + 9_437_184) * 8 / 200e9
    assert dict(plan.origin)["traffic"].endswith("NCCL's log of 8 accelerators; one of 2 iterations")
    topoopt.write_plan(tmp_path / "plan.json", plan)
    again = topoopt.read_plan(tmp_path / "plan.json")
    assert again.traffic() == plan.traffic()
    assert topoopt.verify(again).passed
    moved = topoopt.traffic(LOG, degree=2, set={"iterations": 2})
    assert printed("traffic", LOG, "--degree", "2", "--set", "iterations=2") == as_json(moved.to_json())


def test_a_trace_of_one_rank_needs_the_accelerators_of_a_server() -> None:
    with pytest.raises(
        InvalidInput, match="does not say which share a server; give accelerators_per_server=8"
    ):
        topoopt.traffic(TRACE)
    moved = topoopt.traffic(TRACE, accelerators_per_server=4, degree=2)
    assert "16 accelerators, 15 of which are taken to do as the others; one of 2 iterations" in moved.strategy
    assert moved.traffic.allreduce == (AllReduceGroup((0, 1, 2, 3), 16 * 131_072),)


def test_the_traces_of_chakra_say_what_the_plan_sends(tmp_path: Path) -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=40)
    topoopt.export(plan, format="chakra", out=tmp_path / "et")
    folder = next(path for path in [tmp_path / "et", *(tmp_path / "et").iterdir()] if list(path.glob("*.et")))
    moved = topoopt.traffic(folder, accelerators_per_server=1, degree=2)
    sent = plan.traffic()
    assert moved.traffic.mp_bytes == sent.mp_bytes
    assert moved.traffic.allreduce_bytes == pytest.approx(sent.allreduce_bytes, rel=1e-6)


def test_a_matrix_of_accelerators_is_folded_onto_servers(tmp_path: Path) -> None:
    matrix = np.random.default_rng(4).integers(0, 10**6, (16, 16)).astype(float)
    np.save(tmp_path / "m.npy", matrix)
    moved = topoopt.traffic(tmp_path / "m.npy", accelerators_per_server=4, degree=2).traffic.mp_matrix()
    expected = np.array(
        [[matrix[4 * a : 4 * a + 4, 4 * b : 4 * b + 4].sum() for b in range(4)] for a in range(4)]
    )
    np.fill_diagonal(expected, 0.0)
    assert np.array_equal(moved, expected)
    # sixteen servers: the rows are theirs, whatever is in each
    with pytest.warns(Note, match=r"m\.npy: the diagonal, of servers to themselves, is left out"):
        whole = topoopt.traffic(tmp_path / "m.npy", servers=16, accelerators_per_server=4, degree=2).traffic
    assert whole == traffic_from_matrix(matrix)
    with pytest.raises(
        InvalidInput, match="has 16 rows, which do not fill servers of accelerators_per_server=3"
    ):
        topoopt.traffic(tmp_path / "m.npy", accelerators_per_server=3, degree=2)


def test_groups_that_are_described_in_python_are_planned() -> None:
    groups = AllReduceGroup((0, 2), 10**6), AllReduceGroup((1, 3), 10**6)
    traffic = Traffic(4, groups, (AllToAllGroup((0, 1, 2, 3), 1000),))
    job = traffic_job("own", traffic, ClusterSpec(4, 2, 100e9))
    demand = job_traffic(job, job.work.plain_strategy(4))
    assert demand.allreduce == groups
    assert demand.mp_bytes == 12 * 1000
    plan = topoopt.plan(traffic, servers=4, degree=2, fabrics=())
    assert set(plan.fabric.rings) == {(0, 2), (1, 3)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"batch_per_accelerator": 3}, "batch_per_accelerator: "),
        ({"precision": "bf16"}, "precision: "),
        ({"set": {"iteration": 3}}, 'set: unknown name "iteration"; did you mean iterations'),
        ({"variant": "16"}, "variant is for models of the zoo"),
        ({"servers": 5}, "servers: "),
    ],
)
def test_words_that_a_recording_has_no_use_for(words: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        topoopt.traffic(LOG, **words)  # type: ignore[arg-type]
    assert said in str(raised.value)
