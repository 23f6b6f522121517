"""Tables of runs: what people write is read, what is missing has a default, what cannot be modelled has a reason."""

import csv
import math
from pathlib import Path

import pytest

from tests.measurements.training.published import published
from topoopt.catalog import find_accelerator
from topoopt.measurements.training import Run, predict_runs, read_runs, timed
from topoopt.transformers import find_calibration, flops_per_iteration

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
ROW = {
    "id": "one", "dataset": "mine", "model": "GPT", "layers": "24", "hidden": "2048", "heads": "16", "seq": "1024",
    "gpus": "8.0", "gpu": "A100-SXM4-80GB", "tp": "2.0", "gbs": "64", "iter_time_s": "1.5",
}  # fmt: skip


def table(path: Path, *rows: dict[str, str]) -> Path:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def only(tmp_path: Path, **changes: str) -> Run:
    runs = read_runs(table(tmp_path / "runs.csv", {**ROW, **changes}))
    assert not runs.not_scored, runs.not_scored
    return runs.runs[0]


def reason(tmp_path: Path, **changes: str) -> str:
    runs = read_runs(table(tmp_path / "runs.csv", {**ROW, **changes}))
    assert not runs.runs
    return runs.not_scored[0].reason


def test_empty_cells_have_the_defaults_that_the_guide_names(tmp_path: Path) -> None:
    run = only(tmp_path)
    one = run.configuration
    assert (one.tp, one.pp, one.dp, one.cp, one.ep, one.vpp, one.micro_batch) == (2, 1, 4, 1, 1, 1, 1)
    assert (one.recompute, one.zero, one.sequence_parallel, one.precision) == ("none", 0, True, "bf16")
    assert (run.model.ffn, run.model.kv_heads, run.model.vocabulary) == (8192, 16, 51200)
    assert (run.system.accelerators_per_server, run.system.network_bandwidth_bps) == (8, 200e9)
    assert run.measured_s == 1.5


def test_words_of_other_tables_are_understood(tmp_path: Path) -> None:
    changes = {"zero": "fsdp", "precision": "FP8-MX", "gpu": "H100", "seq_parallel": "0", "recompute": "full"}
    run = only(tmp_path, **changes, nic_gbps_per_gpu="100")
    assert (run.configuration.zero, run.configuration.precision) == (3, "fp8")
    assert not run.configuration.sequence_parallel
    assert run.system.network_bandwidth_bps == 100e9


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA A100 80GB", "A100-SXM4-80GB"),
        ("A100-SXM-80GB", "A100-SXM4-80GB"),
        ("V100-SXM2-32GB", "V100-SXM3-32GB"),
        ("GB200", "GB200-NVL72"),
        ("TPU v4", "TPUv4"),
        ("AMD MI250X", "MI250X"),
        ("H100-SXM-96GB-HBM2e (Grand Teton)", "H100-SXM-96GB-HBM2e"),
        ("H100 80GB HBM3", "H100-SXM5-80GB"),
        ("H100 80GB PCIe", "H100-PCIE-80GB"),
        ("8xH100", "H100-SXM5-80GB"),
        ("64 x GB200", "GB200-NVL72"),
        ("8 H100s", "H100-SXM5-80GB"),
        ("L40S", "L40S"),
        ("A100-SXM…", "A100-SXM4-40GB"),
        ("A100 SXM4 80 GB", "A100-SXM4-80GB"),
        ("A100-80G", "A100-SXM4-80GB"),
    ],
)
def test_accelerators_are_known_as_tables_write_them(tmp_path: Path, written: str, name: str) -> None:
    assert only(tmp_path, gpu=written, iter_time_s="9").system.accelerator == name


def test_sizes_as_written(tmp_path: Path) -> None:
    one = only(tmp_path, gpus="1k", gbs="4M tokens", seq="2k").configuration
    assert (one.accelerators, one.sequence, one.global_batch) == (1024, 2048, 2048)
    assert only(tmp_path, gbs="", gbs_tokens="64k").configuration.global_batch == 64
    assert only(tmp_path, gbs="100k tokens").configuration.global_batch == 100
    assert (
        only(tmp_path, gpus="24", gbs="1M tokens").configuration.global_batch == 1020
    )  # goes round 12 replicas


def test_attention_of_a_row_moves_time_and_memory(tmp_path: Path) -> None:
    """Scores in memory take time and bytes; the calibration decides where a row says nothing."""
    long = {"seq": "8192", "iter_time_s": "60", "recompute": "none", "zero": "1"}
    rows = [{**ROW, **long, "attention": word} for word in ("flash", "torch", "")]
    answer = predict_runs(read_runs(table(tmp_path / "runs.csv", *rows)))
    fused, eager, usual = answer.predictions
    assert eager.iteration_time_s > 1.2 * fused.iteration_time_s
    assert eager.memory_bytes > 2 * fused.memory_bytes
    assert [one.run.attention for one in answer.predictions] == ["fused", "eager", ""]
    own = find_calibration("a100-80gb").attention
    assert usual.iteration_time_s == (fused if own == "fused" else eager).iteration_time_s


def test_links_that_join_hosts_make_one_server_of_them(tmp_path: Path) -> None:
    nvl = only(tmp_path, gpu="GB200", gpus="256", gpus_per_node="4", gbs="512").system
    half = only(tmp_path, gpu="A100", gpus_per_node="4").system
    assert (nvl.accelerators_per_server, half.accelerators_per_server) == (64, 4)  # of four racks


def test_shapes_that_are_missing_come_from_the_zoo(tmp_path: Path) -> None:
    run = only(tmp_path, layers="", hidden="", model="LLAMA3_70B", iter_time_s="60")
    assert (run.model.layers, run.model.hidden) == (80, 8192)
    assert "the zoo has no model" in reason(tmp_path, layers="", hidden="", model="GPT-9")
    assert "there is no model name" in reason(tmp_path, layers="", model="")


def test_a_time_may_be_missing_or_follow_from_tokens(tmp_path: Path) -> None:
    assert math.isnan(only(tmp_path, iter_time_s="").measured_s)
    assert only(tmp_path, iter_time_s="", tokens_per_s_per_gpu="8192").measured_s == 1.0
    assert only(tmp_path, status="oom").out_of_memory
    assert math.isnan(only(tmp_path, status="oom").measured_s)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gpus": "many"}, 'gpus: expected a number, got "many"'),
        ({"gpus": ""}, "gpus: missing"),
        ({"tp": "1.5"}, "tp: expected a whole number >= 1, got 1.5"),
        ({"tp": "3"}, "tp·pp·cp = 3 does not divide 8 accelerators"),
        ({"dp": "8"}, "tp·pp·cp·dp = 16, but the run has 8 accelerators"),
        ({"gpu": "A1000"}, 'unknown name "a1000"'),
        (
            {"recompute": "some"},
            'recompute: expected none, selective, full or parts such as core+norms, got "some"',
        ),
        ({"zero": "4"}, "zero: expected one of"),
        ({"precision": "int4"}, "precision: expected one of"),
        ({"iter_time_s": "0"}, "iter_time_s: must be positive, got 0"),
        ({"iter_time_s": "0.0001"}, "above its peak of 312"),
        ({"nic_gbps_per_gpu": "1e-300"}, "nic_gbps_per_gpu: expected 0.001..1e+06 Gb/s, got 1e-300"),
        ({"iter_time_s": "", "mfu_pct": "40", "mfu_precision": "0"}, "mfu_precision: expected a precision"),
        ({"iter_time_s": "", "tflops_per_gpu": "1e300"}, "tflops_per_gpu: 1e300 would be 0 s an iteration"),
        ({"gbs": "2"}, "2 sequences do not go round 4 replicas"),
        ({"arch": "moe"}, 'experts: not in the table, and the zoo has no model "GPT"'),
        ({"ep": "2"}, "experts: not in the table"),
        ({"gbs": "62"}, "global_batch 62: not a multiple of dp 4 x micro-batch 1 = 4; nearest: 60, 64"),
        (
            {"model": "llama3-8b", "layers": "", "hidden": "", "heads": "", "ep": "2"},
            "has no experts; leave it",
        ),
        (
            {"heads": "24", "hidden": "3072", "tp": "8", "gpus": "64", "kv_heads": "6"},
            "tp 8: neither divides 6",
        ),
        ({"shard": "3", "zero": "3"}, "shard 3: does not divide dp 4 x cp 1 = 4"),
        ({"shard": "2"}, "shard 2: without ZeRO nothing is shared out"),
        ({"weights": "fp8"}, "weights fp8: precision bf16 computes with more bits"),
        ({"lora_rank": "9999"}, "adapter_rank 9999: is above the hidden size 2048"),
        ({"pp": "4", "schedule": "zb", "vpp": "2"}, "schedule zero-bubble: has one chunk in each stage"),
    ],
)
def test_a_row_that_cannot_be_modelled_says_why(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    assert words in reason(tmp_path, **changes)


def test_words_that_a_degree_of_1_leaves_nothing_to_do_are_those_of_other_rows(tmp_path: Path) -> None:
    words = {
        "schedule": "zb",
        "dispatch": "fp8",
        "overlap_experts": "1",
        "context": "a2a",
        "sp": "1",
        "tp": "1",
    }
    one = only(tmp_path, **words).configuration
    assert (one.schedule, one.dispatch, one.overlap_experts, one.context) == ("1f1b", "", False, "ring")
    assert not one.sequence_parallel


def test_every_published_run_is_modelled_or_has_its_reason() -> None:
    runs = published("train_runs.csv")
    assert len(runs.table.rows) == 1417 == len(runs.runs) + len(runs.not_scored)
    assert {one.row.dataset for one in runs.not_scored} == {"megatron_bridge"}
    assert sum(run.out_of_memory for run in runs.runs) == 4


def test_published_runs_are_as_many_accelerators_as_their_degrees_say() -> None:
    """And reach at most 65 % of the 16-bit peak, or 50 % of the 8-bit peak, in matrix products."""
    runs = published("published_runs.csv")
    assert not runs.not_scored
    for run in timed(runs):
        one, part = run.configuration, find_accelerator(run.system.accelerator)
        flops = flops_per_iteration("matmul-causal", run.model, one.global_batch, one.sequence)
        flops *= 2 / 3 if one.adapter_rank else 1  # frozen weights have no gradients
        share = (
            flops
            / run.measured_s
            / one.accelerators
            / (part.peaks or {"bf16": 989e12, "fp8": 1979e12})[one.precision]
        )
        assert 0.02 < share < (0.65 if one.precision != "fp8" else 0.5), run.row.name
        assert float(run.row.cells["gpus"]) == one.accelerators


def test_the_runs_to_check_against_are_not_among_those_fitted() -> None:
    def known(name: str) -> list[tuple[object, ...]]:
        return [
            (run.model, run.configuration, run.system.network_bandwidth_bps) for run in timed(published(name))
        ]

    fitted, checked = known("train_runs.csv"), known("published_runs.csv")
    assert len(checked) > 100
    assert not set(checked) & set(fitted)
