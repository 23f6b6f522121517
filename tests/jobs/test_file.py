"""A job file says what is wanted; requests laid over each other become one job."""

import json
from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.jobs import (
    JobRequest,
    job_from_mapping,
    job_traffic,
    operators_of,
    read_cluster_part,
    request_of,
    requested_job,
)
from topoopt.schema.words import TrainingWords, described
from topoopt.search import job_of
from topoopt.workloads import load_model
from topoopt.workloads.traffic import traffic_from_matrix
from topoopt.workloads.transformer import find_transformer


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_whole_job_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "job.yaml",
        "model: dlrm\nvariant: 16\nset: {tables: 8}\nbatch_per_accelerator: 64\nprecision: bf16\nbucket: 25 MB\n"
        "cluster: {servers: 8, degree: 2, link_bandwidth: 25 Gbps, link_latency: 2 us}\nsearch: {budget: 10}\n",
    )
    request = request_of(str(path))
    job = requested_job(request)
    assert request.search == {"budget": 10}
    assert (operators_of(job).graph.name, operators_of(job).graph.batch_per_accelerator) == ("dlrm-16", 64)
    assert sum(op.is_embedding for op in operators_of(job).graph.operators) == 8
    assert (job.cluster.servers, job.cluster.degree) == (8, 2)
    assert (job.cluster.link_bandwidth_bps, job.cluster.link_latency_s) == (25e9, 2e-6)
    assert (job.settings.precision, job.settings.bucket_bytes) == ("bf16", 25_000_000)


def test_what_lies_above_wins_and_the_rest_stays() -> None:
    below = JobRequest(
        model="dlrm", hyperparameters={"tables": 8, "dim": 64}, cluster={"servers": 16, "degree": 8}
    )
    above = JobRequest(hyperparameters={"dim": 128}, cluster={"degree": 4}, settings={"precision": "tf32"})
    both = below.overlaid(above)
    assert both.model == "dlrm"
    assert both.hyperparameters == {"tables": 8, "dim": 128}
    assert both.cluster == {"servers": 16, "degree": 4}
    assert both.settings == {"precision": "tf32"}


@pytest.mark.parametrize(
    ("request_", "variant", "servers"),
    [
        (JobRequest(model="dlrm"), "dlrm-128", 128),
        (JobRequest(model="dlrm-16"), "dlrm-16", 16),
        (JobRequest(model="dlrm", variant="testbed"), "dlrm-testbed", 12),
        (JobRequest(model="dlrm", cluster={"servers": 24}), "dlrm-16", 24),
        (JobRequest(model="dlrm-16", cluster={"servers": 64}), "dlrm-16", 64),
    ],
)
def test_servers_come_from_the_variant_unless_said(request_: JobRequest, variant: str, servers: int) -> None:
    job = requested_job(request_)
    assert (operators_of(job).graph.name, job.cluster.servers) == (variant, servers)


def test_files_lie_beside_the_job_file_and_are_digested(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    write(folder / "hall.yaml", "servers: 4\ndegree: 2\n")
    write(folder / "bytes.csv", "0,1,0,0\n0,0,1,0\n0,0,0,1\n1,0,0,0\n")
    request = request_of(str(write(folder / "job.yaml", "traffic: bytes.csv\ncluster: hall.yaml\n")))
    job = requested_job(request)
    assert (job.cluster.degree, len(job_traffic(job, job.work.plain_strategy(4)).transfers)) == (2, 4)
    assert set(request.input_digests()) == {"job.yaml", "hall.yaml", "bytes.csv"}
    assert all(value.startswith("sha256:") for value in request.input_digests().values())


def test_a_cluster_file_may_leave_things_out(tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", "intra_server_bandwidth: 300 GB/s\naccelerator: h100\n")
    assert read_cluster_part(path) == {"intra_server_bandwidth_bps": 2.4e12, "accelerator": "h100"}


def test_own_measurements_time_the_model_that_was_measured(tmp_path: Path) -> None:
    """A profile in which every operator of VGG takes 1 ms forward and 2 ms backward, whatever its part."""
    names = {op.profile_key for op in load_model("vgg16-16").operators}
    rows = [
        {"name": name, "pc_str": f"1-{parts}", "fw_time": 1.0, "bw_time": 2.0, "mem_req": 0}
        for name in sorted(names)
        for parts in (8, 16)
    ]
    path = tmp_path / "measure_vgg.json"
    path.write_text(json.dumps({"batch_size": 4096, "ngpus": 16, "measurements": rows}))
    for request in (JobRequest(profile=str(path)), JobRequest(profile=str(path), model="vgg16")):
        job = requested_job(request)
        assert (job.cluster.servers, operators_of(job).graph.batch_per_accelerator) == (16, 64)
        time = operators_of(job).timer.time(operators_of(job).graph.operators[0], 256)
        assert (time.forward_s, time.backward_s, time.source) == (1e-3, 2e-3, "profile")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (
            JobRequest(model="dlrm", cluster={"servers": 2, "degree": 80}),
            "a server has at most 72 interfaces",
        ),
        (JobRequest(model="dlrm", settings={"precision": "fp64"}), "precision: unknown name"),
        (JobRequest(model="dlrm-16", variant="128"), "already names a variant"),
    ],
)
def test_what_does_not_go_together(request_: JobRequest, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        requested_job(request_)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training: {recompute: everything}", 'training.recompute: unknown name "everything"'),
        ("training: {accelerators: 20}", "training.accelerators 20: must be two or more servers"),
        ("training: {tp: 3}", "training.tp 3: does not divide 32 heads"),
        ("cluster: {accelerator: abacus}", 'cluster.accelerator: unknown name "abacus"'),
        ("cluster: {servers: 2, degree: 90}", "cluster.degree: a server has at most 72"),
        ("optimizer: adam", "optimizer: is for graphs of operators"),
    ],
)
def test_a_mistake_that_is_met_later_still_names_file_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"model: llama2-7b\n{text}\n")
    with pytest.raises(InvalidInput) as caught:
        job_of(request_of(str(path)))
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_word_said_above_a_file_is_no_mistake_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("model: dlrm\ncluster: {accelerator: abacus}\n")
    with pytest.raises(InvalidInput, match=r"^accelerator: unknown name"):
        job_of(request_of(str(path)).overlaid(JobRequest(cluster={"accelerator": "slide-rule"})))


def test_a_mistake_in_a_cluster_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("accelerator: abacus\n")
    (tmp_path / "job.yaml").write_text("model: dlrm\ncluster: hall.yaml\n")
    with pytest.raises(InvalidInput, match=r"hall\.yaml: accelerator: unknown name"):
        job_of(request_of(str(tmp_path / "job.yaml")))


def test_a_mistake_in_a_hyper_parameter_names_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("model: dlrm\nset: {tables: 0}\n")
    with pytest.raises(InvalidInput, match=r"job\.yaml: set\.tables: expected an integer >= 1, got 0"):
        job_of(request_of(str(tmp_path / "job.yaml")))


@pytest.mark.parametrize("model", ["dlrm", "dlrm-16"])
def test_an_unknown_hyper_parameter_names_file_and_key(tmp_path: Path, model: str) -> None:
    path = write(tmp_path / "job.yaml", f"model: {model}\nset: {{tabels: 3}}\n")
    with pytest.raises(InvalidInput) as caught:
        job_of(request_of(str(path)))
    assert str(caught.value).startswith(
        f"{path}: set.tabels: unknown hyper-parameter; did you mean tables? Known: "
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("operators: none.yaml", "operators"),
        ("traffic: none.csv", "traffic"),
        ("model: dlrm\nprofile: none.json", "profile"),
        ("config: none.json", "config"),
        ("model: llama2-7b\ntraining: {calibration: none.yaml}", "training.calibration"),
        ("model: dlrm\ncluster: none.yaml", "cluster"),
    ],
)
def test_a_missing_file_is_reported_with_the_file_that_asks_for_it(
    tmp_path: Path, text: str, key: str
) -> None:
    path = write(tmp_path / "job.yaml", f"{text}\n")
    with pytest.raises(InvalidInput) as caught:
        job_of(request_of(str(path)))
    assert str(caught.value).startswith(f"{path}: {key}: {tmp_path}/none.")
    assert "no such file" in str(caught.value)


@pytest.mark.parametrize("name", ["none.onnx", "none.pt2", "none.et"])
def test_a_missing_file_is_no_model_of_that_name(tmp_path: Path, name: str) -> None:
    for given in (name, str(tmp_path / name)):
        with pytest.raises(InvalidInput, match=f"{name}: no such file$"):
            request_of(given)


def test_what_is_described_in_python_is_digested_by_what_it_says() -> None:
    matrix = np.array([[0.0, 1e6], [2e6, 0.0]])
    described = (
        load_model("dlrm-16"),
        traffic_from_matrix(matrix),
        traffic_from_matrix(2 * matrix),
        find_transformer("llama2-7b"),
    )
    digests = [JobRequest(described=one).input_digests() for one in described]
    assert [list(one) for one in digests] == [["dlrm-16"], ["traffic"], ["traffic"], ["llama2-7b"]]
    assert len({value for one in digests for value in one.values()}) == 4
    assert JobRequest(described=load_model("dlrm-16")).input_digests() == digests[0]


def test_a_training_takes_every_word_of_its_vocabulary() -> None:
    """A word that others add to a configuration is one of a job file, too."""
    for word in described(TrainingWords):
        value = {int: 2, bool: True, float: 0.5}.get(word.kind, "text")
        job = job_from_mapping({"model": "llama2-7b", "training": {word.name: value}}, "job.yaml")
        assert job.training[word.name] == value or str(job.training[word.name]).endswith(str(value))
