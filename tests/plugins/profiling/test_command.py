"""``topoopt profile``, and its file in the other verbs."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line
from tests.plugins.profiling.made import CPU, H100, made_profile
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.plugins.profiling import subject_of_job, subject_of_transformer
from topoopt.workloads import (
    DeviceFacts,
    device_profile_to_mapping,
    load_model,
    read_device_profile,
    read_operators,
)
from topoopt.workloads.transformer import find_transformer

SMALL: dict[str, Any] = {
    "rows": 1000,
    "tables": 4,
    "dim": 16,
    "bottom_width": 32,
    "top_width": 64,
    "top_layers": 2,
}
CHANGES = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
ON_TWO = ("--servers", "4", "--accelerators-per-server", "2", "--batch-per-accelerator", "16")
QUICK = ("--device", "cpu", "--threads", "1", "--repetitions", "3", "--warm-up", "1")


def write_profile(folder: Path, device: DeviceFacts = CPU) -> str:
    """Write the profile of a small DLRM, made by a law."""
    graph = load_model("dlrm-16", batch_per_accelerator=16, **SMALL)
    cluster = ClusterSpec(4, 4, 100e9, accelerators_per_server=2)
    made = made_profile(subject_of_job(make_job(graph, cluster, JobSettings()), "zoo", SMALL), device)
    (folder / "p.json").write_text(json.dumps(device_profile_to_mapping(made)))
    return "p.json"


def plan(topoopt: Topoopt, *words: str) -> dict[str, Any]:
    ran = topoopt("plan", *words, "--budget", "5", "--fabrics", "none", "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_a_dry_run_says_what_would_be_measured(topoopt: Topoopt, tmp_path: Path) -> None:
    ran = topoopt("profile", "dlrm", *CHANGES, *ON_TWO, "--dry-run")
    assert ran.code == 0
    assert "44 sizes would be measured" in ran.out
    assert "table_0" in ran.out
    assert not list(tmp_path.iterdir())
    whole = json.loads(topoopt("profile", "dlrm", *CHANGES, *ON_TWO, "--dry-run", "--json").out)
    assert whole["sizes"] == sum(row["sizes"] for row in whole["operators"]) == 44


def test_a_dry_run_of_a_transformer_and_of_operators(topoopt: Topoopt) -> None:
    words = ("--tensor-parallel", "1,8", "--micro-batch", "1,2", "--seq", "128")
    whole = json.loads(topoopt("profile", "llama2-7b", "--dry-run", *words, "--json").out)
    assert [row["operator"] for row in whole["operators"]][:3] == ["norm", "qkv", "core"]
    assert whole["sizes"] == 2 + 8 * 4
    mine = json.loads(topoopt("profile", str(EXAMPLES / "operators.yaml"), "--dry-run", "--json").out)
    assert mine["operators"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dlmr",), 'model: unknown name "dlmr"; did you mean dlrm'),
        (("dlrm", "--device", "gpu"), '--device: unknown name "gpu"'),
        (("dlrm", "--precision", "fp8"), "--precision: PyTorch has no whole operators in fp8"),
        (("dlrm", "--threads", "-1"), "--threads: expected an integer >= 0, got -1"),
        (("dlrm", "--repetitions", "1"), "--repetitions: expected an integer >= 3, got 1"),
        (("dlrm", "--warm-up", "0"), "--warm-up: expected an integer >= 1, got 0"),
        (("dlrm", "--time-limit", "0s"), '--time-limit: must be positive, got "0s"'),
        (("dlrm", "--time-limit", "10"), '--time-limit: unknown or missing unit in "10"'),
        (("dlrm", "--operators", "dnse"), '--operators: unknown name "dnse"; did you mean dense'),
        (("dlrm", "--operators", ","), "--operators: expected kinds or names with commas"),
        (("dlrm", "--operators", "x*"), '--operators: "x*" fits none of'),
        (("dlrm", "--tensor-parallel", "2"), "--tensor-parallel: is for transformers, and dlrm is none"),
        (("dlrm", "--seq", "2"), "--seq: is for transformers, and dlrm is none"),
        (
            ("llama2-7b", "--servers", "2"),
            "--servers: is for models of operators, and llama2-7b is a transformer",
        ),
        (("llama2-7b", "--set", "a=1"), "--set: is for models of operators"),
        (("llama2-7b", "--tensor-parallel", "3"), "--tensor-parallel: none of 3 divides the 32 heads"),
        (("llama2-7b", "--micro-batch", "0"), "--micro-batch: expected numbers >= 1 with commas"),
        (("llama2-7b", "--seq", "0"), "--seq: expected an integer >= 1, got 0"),
        (("dlrm", "--servers", "1"), "servers"),
        (("dlrm", "--out", "no/p.json"), "--out: no/p.json: the folder no does not exist"),
    ],
    ids=lambda value: " ".join(value)[-40:],
)
def test_a_mistake_is_one_line(topoopt: Topoopt, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert_one_line(topoopt("profile", *words, *(() if "--out" in words else ("--out", "p.json"))), said)
    assert not list(tmp_path.iterdir())


def test_without_pytorch_one_line_says_what_to_install(
    topoopt: Topoopt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = topoopt("profile", "dlrm", *CHANGES, "--out", "p.json")
    assert_one_line(ran, 'PyTorch is not installed; pip install "topoopt[torch]"')
    assert not list(tmp_path.iterdir())


def test_what_is_not_a_profile_is_not_written_over(topoopt: Topoopt, plan_file: str) -> None:
    before = Path(plan_file).read_bytes()
    ran = topoopt("profile", "dlrm", *QUICK, "--out", plan_file)
    assert_one_line(ran, "plan.json: expected a profile with schema topoopt-profile/1, got topoopt-plan")
    assert Path(plan_file).read_bytes() == before


def test_a_gpu_that_is_not_there_is_one_line(topoopt: Topoopt) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[torch]")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert_one_line(topoopt("profile", "dlrm", "--device", "cuda"), "--device: no GPU here (PyTorch ")


def test_measured_here_and_planned_with_it(topoopt: Topoopt) -> None:
    """From the first measurement to a plan whose every operator says ``profile``."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[torch]")
    words = ("profile", "dlrm", *CHANGES, *ON_TWO, *QUICK, "--out", "p.json")
    some = json.loads(topoopt(*words, "--operators", "dense", "--json").out)
    assert 0 < some["measured"] == some["sizes"] < 44
    rest = json.loads(topoopt(*words, "--json").out)
    assert (rest["sizes"], rest["found"], rest["measured"]) == (44, some["measured"], 44 - some["measured"])
    shown = topoopt(*words)
    assert "44: 0 measured now, 44 known before" in shown.out
    assert "topoopt plan p.json" in shown.out
    assert read_device_profile("p.json").hyperparameters == SMALL
    made = plan(topoopt, "p.json")
    assert {row["time_source"] for row in made["strategy"]} == {"profile"}
    other = topoopt("profile", "dlrm", *CHANGES, *ON_TWO, *QUICK, "--precision", "bf16", "--out", "p.json")
    assert_one_line(other, "--out: p.json: precision: fp32 in the file, bf16 now; give another file")


def test_a_profile_alone_is_a_job(topoopt: Topoopt, tmp_path: Path) -> None:
    made = plan(topoopt, write_profile(tmp_path))
    assert (made["servers"], made["cluster"]["accelerators_per_server"]) == (4, 2)
    assert made["graph"]["batch_per_accelerator"] == 16
    assert {row["time_source"] for row in made["strategy"]} == {"profile"}
    assert "p.json" in made["provenance"]["inputs"]


def test_a_plan_file_keeps_the_measurements(topoopt: Topoopt, tmp_path: Path) -> None:
    made = plan(topoopt, write_profile(tmp_path), "--out", "plan.json")
    Path("p.json").unlink()
    ran = topoopt("simulate", "plan.json", "--simulator", "analytic", "--json")
    assert json.loads(ran.out)["iteration_time_s"] == pytest.approx(made["iteration_time_s"])


def test_a_model_takes_the_times_of_the_shapes_that_it_shares(topoopt: Topoopt, tmp_path: Path) -> None:
    place = write_profile(tmp_path)
    deeper = plan(topoopt, "dlrm-16", *CHANGES, "--set", "bottom_layers=9", "--profile-file", place)
    assert {row["time_source"].partition(" ")[0] for row in deeper["strategy"]} == {"profile"}
    wider = plan(topoopt, "dlrm-16", *CHANGES, "--set", "bottom_output=64", "--profile-file", place)
    assert "roofline" in {row["time_source"] for row in wider["strategy"]}


def test_a_job_file_names_a_profile(topoopt: Topoopt, tmp_path: Path) -> None:
    write_profile(tmp_path)
    (tmp_path / "job.yaml").write_text("profile: p.json\ncluster: {degree: 2}\n")
    made = plan(topoopt, "job.yaml")
    assert (made["degree"], made["strategy"][0]["time_source"]) == (2, "profile")


def test_operators_of_a_file_and_their_profile_go_together(topoopt: Topoopt, tmp_path: Path) -> None:
    operators = EXAMPLES / "operators.yaml"
    graph = read_operators(operators, batch_per_accelerator=8)
    subject = subject_of_job(make_job(graph, ClusterSpec(4, 4, 100e9), JobSettings()), "operators")
    (tmp_path / "p.json").write_text(json.dumps(device_profile_to_mapping(made_profile(subject))))
    made = plan(topoopt, str(operators), "--profile-file", "p.json", "--batch-per-accelerator", "8")
    assert "profile" in {row["time_source"] for row in made["strategy"]}
    assert_one_line(
        topoopt("plan", "p.json"), "a file of operators; name that file, and this one with --profile-file"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--precision", "bf16"), "p.json: was measured in fp32, the job computes in bf16"),
        (("--compute", "roofline"), "p.json: --compute roofline takes no measured times"),
    ],
)
def test_a_job_that_is_not_the_profiles_is_refused(
    topoopt: Topoopt, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    assert_one_line(topoopt("plan", write_profile(tmp_path), *words), said)


def test_a_profile_of_another_accelerator_is_refused(topoopt: Topoopt, tmp_path: Path) -> None:
    place = write_profile(tmp_path, replace(H100, precision="bf16"))
    ran = topoopt("plan", place, "--accelerator", "a100")
    assert_one_line(ran, "p.json: was measured on H100-SXM5-80GB, the cluster has A100-SXM4-40GB")
    made = plan(topoopt, place)
    assert (made["cluster"]["accelerator"], made["settings"]["precision"]) == ("H100-SXM5-80GB", "bf16")


def test_a_plan_with_times_of_a_cpu_says_so(topoopt: Topoopt, tmp_path: Path) -> None:
    place = write_profile(tmp_path)
    ran = topoopt("plan", place, "--budget", "5", "--fabrics", "none")
    assert "Operator times were measured on Test CPU (cpu), not on the cluster's A100-SXM4-40GB." in ran.out


def test_a_profile_of_nothing_in_the_model_is_refused(topoopt: Topoopt, tmp_path: Path) -> None:
    ran = topoopt("plan", "vgg16", "--profile-file", write_profile(tmp_path))
    assert_one_line(ran, "p.json: holds times of dlrm-16, and of no operator of vgg16-16; measure that")


def test_a_profile_of_a_transformer_is_for_step_times(topoopt: Topoopt, tmp_path: Path) -> None:
    made = made_profile(subject_of_transformer(find_transformer("llama2-7b")), H100)
    (tmp_path / "p.json").write_text(json.dumps(device_profile_to_mapping(made)))
    assert_one_line(topoopt("plan", "p.json"), "p.json: holds operators of the transformer llama2-7b")


def test_pytorch_is_imported_by_the_verb_alone() -> None:
    """The room is imported for its sizes and files, too, where there is no PyTorch."""
    before = "torch" in sys.modules
    importlib.import_module("topoopt.plugins.profiling")
    assert ("torch" in sys.modules) == before


def test_step_times_take_the_kernels_of_a_profile(topoopt: Topoopt, tmp_path: Path) -> None:
    made = made_profile(subject_of_transformer(find_transformer("llama2-7b")), H100)
    (tmp_path / "p.json").write_text(json.dumps(device_profile_to_mapping(made)))
    words = ("llm", "estimate", "llama2-7b", "--tp", "4", "--dp", "2", "--json")
    shipped = json.loads(topoopt(*words).out)
    ours = json.loads(topoopt(*words, "--calibration", "p.json").out)
    assert ours["calibration"] == f"{shipped['calibration']} (profile)"
    assert ours["compute_s"] != shipped["compute_s"]
    ran = topoopt(*words, "--accelerator", "a100", "--calibration", "p.json")
    assert_one_line(ran, "p.json: was measured on H100-SXM5-80GB, and A100-SXM4-40GB was asked for")


def test_a_profile_is_not_measured(topoopt: Topoopt, tmp_path: Path) -> None:
    ran = topoopt("profile", write_profile(tmp_path), "--dry-run")
    assert_one_line(ran, "p.json: is or names a profile already; name a model to measure it here")


def test_a_plan_with_a_size_that_did_not_fit_says_so(topoopt: Topoopt, tmp_path: Path) -> None:
    place = tmp_path / write_profile(tmp_path)
    document = json.loads(place.read_text())
    for row in document["operators"]:
        if row["name"] in ("bottom_0", "top_0"):
            whole = [size for size in row["measurements"] if size["channel_dim"] == "none"]
            row["measurements"] = whole[:-1] or whole
            keys = ("samples", "channel_degree", "channel_dim")
            sizes = [{key: size[key] for key in keys} for size in whole]
            row["failures"] = [{**size, "reason": "out of memory: needs about 1 TB"} for size in sizes]
    place.write_text(json.dumps(document))
    ran = topoopt("plan", "p.json", "--budget", "0", "--fabrics", "none")
    assert "bottom_0 and 7 more did not fit into the memory of Test CPU at this size." in ran.out
