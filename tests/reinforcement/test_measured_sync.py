"""Published moves of weights beside ours: by software, and by what a network needs at the least."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.reinforcement import predict_rl_runs
from topoopt.reinforcement.sync_measurements import sync_time
from topoopt.reinforcement.weight_sync import transport_for

RUNS = Path(__file__).parents[2] / "benchmarks" / "data" / "rl_runs.csv"


def row(**cells: str) -> dict[str, str]:
    return {"policy": "broadcast", "model": "Qwen3-235B", "precision": "bf16", **cells}


def test_published_moves_are_met_or_their_difference_is_known() -> None:
    """70 B over gloo 3 min and 1 T on 256 H20 16 s are rows that laws are fitted to; of the other two nothing is."""
    found = {one.row.name: one for one in predict_rl_runs(RUNS).predictions if one.kind == "weight_sync"}
    assert found["openinstruct|70B"].predicted_s == pytest.approx(180, rel=0.01)
    assert found["openinstruct|8B"].predicted_s == pytest.approx(5.5, rel=0.01)
    assert found["ckpt|Kimi-K2 (FP8)|256|broadcast"].error_percent == pytest.approx(0.4, abs=0.1)
    assert found["published|235B|8 x H800"].error_percent == pytest.approx(20.6, abs=0.2)
    assert found["published|Kimi-K2|256 to 128"].error_percent == pytest.approx(-1.3, abs=0.2)


def test_no_measured_move_is_quicker_than_the_least_of_its_network() -> None:
    for one in predict_rl_runs(RUNS).predictions:
        if one.network_s is not None:
            assert one.network_s <= one.measured_s * 1.001, one.row.name


def test_a_trillion_parameters_come_as_fast_as_interfaces_take_them_in() -> None:
    """A replica of 16 on two servers: each hears half of 1.026 TB at 8 x 400 Gb/s; of 32 half of that."""
    words = {
        "policy": "rdma",
        "model": "Kimi-K2 (FP8)",
        "precision": "fp8",
        "accelerator": "H200",
        "n_acc": "384",
    }
    pools = {"n_train": "256", "n_rollout": "128"}
    sixteen, more = (sync_time({**words, **pools, "gen_tp": size}) for size in ("16", "32"))
    assert sixteen.predicted_s == pytest.approx(1.026e12 / 2 / 400e9, rel=0.01)
    assert more.predicted_s == pytest.approx(sixteen.predicted_s / 2, rel=0.01)
    assert sync_time({**words, **pools}) == sixteen  # the fewest that have room
    with pytest.raises(InvalidInput, match="n_acc: missing"):
        sync_time({**words, "n_acc": ""})


def test_within_a_server_no_network_is_needed() -> None:
    found = sync_time(row(accelerator="H800-SXM5-80GB", n_acc="8", gen_tp="8"))
    assert found.network_s == 0
    assert found.predicted_s == pytest.approx(7.48, rel=0.01)


@pytest.mark.parametrize(("size_bytes", "name"), [(16e9, "gloo"), (80e9, "gloo"), (141e9, "gloo-by-matrix")])
def test_over_gloo_weights_are_gathered_at_once_where_an_accelerator_has_room(
    size_bytes: float, name: str
) -> None:
    assert transport_for("gloo", size_bytes, 80e9).name == name
    assert transport_for("nccl", size_bytes, 80e9).name == "nccl"
