"""A mixture of experts whose loads are not even: its all-to-alls differ by layer, and circuits follow them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.jobs import Job, JobRequest, request_of, transformer_of
from topoopt.search import job_of
from topoopt.simulation import SimulationOptions, pipeline_task_graph, simulate

TINY = {
    "model_type": "mixtral",
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "intermediate_size": 4096,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
SPLIT = {"tp": 8, "pp": 1, "dp": 4, "ep": 4, "etp": 8, "micro_batch": 2, "zero": 0, "recompute": "full"}


def job_with(folder: Path, **training: Any) -> Job:
    path = folder / "config.json"
    path.write_text(json.dumps(TINY))
    said = {"accelerators": 32, "global_batch": 16, **SPLIT, **training}
    cluster = {"degree": 4, "link_bandwidth_bps": 100e9}
    return job_of(JobRequest(config=str(path), training=said, cluster=cluster))


def test_uneven_loads_make_uneven_all_to_alls(tmp_path: Path) -> None:
    even, uneven = (transformer_of(job_with(tmp_path, **words)) for words in ({}, {"loads": "zipf:1.2"}))
    assert even is not None
    assert uneven is not None
    assert not any(one.pair_bytes for one in even.layouts[0].step.exchanges)
    pairs = {one.pair_bytes for one in uneven.layouts[0].step.exchanges}
    assert len(pairs) > 1, "every layer has loads of its own"
    sums = [layout.step.traffic.mp_bytes for layout in (even.layouts[0], uneven.layouts[0])]
    assert sums[1] == pytest.approx(sums[0], rel=0.01), "as many tokens leave their server"


def test_circuits_follow_every_layer(tmp_path: Path) -> None:
    training = transformer_of(job_with(tmp_path, loads="zipf:1.2"))
    # none of them early, lest a change hide behind gradients
    step = training.layouts[0].step
    late = tuple(replace(one, overlap=0.0) for one in step.synchronizations)
    graph = pipeline_task_graph(replace(step, synchronizations=late))
    times_s = [
        simulate(
            "flow",
            graph,
            build_fabric(
                "mixnet", FabricRequest(4, 3, 100e9, shape=FabricShape(hiding=hiding, delay_s=1e-3))
            ),
            SimulationOptions(tolerance=0.0),
        ).iteration_time_s
        for hiding in ("all-but-first", "none")
    ]
    # Two circuits of a server do not reach three others, so that each of 4 layers wants others; dispatch and combine
    # share them. There are 4 passes, 2 forward and 2 backward. The first change is waited for in any case.
    assert times_s[1] - times_s[0] == pytest.approx((4 * 4 - 1) * 1e-3, rel=1e-9)


def test_a_job_file_names_a_file_of_loads_beside_it(tmp_path: Path) -> None:
    rows = ["layer,expert,share"]
    rows += [f"{layer},{expert},{expert + 1}" for layer in range(4) for expert in range(4)]
    (tmp_path / "loads.csv").write_text("\n".join(rows))
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    words = "\n".join(f"  {key}: {value}" for key, value in {**SPLIT, "accelerators": 32}.items())
    (tmp_path / "job.yaml").write_text(f"config: config.json\ntraining:\n{words}\n  loads: loads.csv\n")
    request = request_of(str(tmp_path / "job.yaml"))
    assert request.training["loads"] == str(tmp_path / "loads.csv")
    assert "loads.csv" in request.input_digests()
    training = transformer_of(job_of(request))
    sent = np.array(training.layouts[0].step.exchanges[0].pair_bytes)
    # A token goes to a server once: two of 4 experts miss 0.4 of them with (2.4·1.4)/(4·3), 0.3 with (2.8·1.8)/(4·3).
    assert sent[0, 3] == pytest.approx(0.72 / 0.58 * sent[0, 2], rel=1e-6)


def test_a_model_without_experts_has_no_loads(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    dense = {key: value for key, value in TINY.items() if "expert" not in key}
    path.write_text(json.dumps({**dense, "model_type": "llama"}))
    said = {"accelerators": 32, "global_batch": 16, "loads": "zipf"}
    with pytest.raises(InvalidInput, match="has no experts"):
        job_of(JobRequest(config=str(path), training=said, cluster={"degree": 4, "link_bandwidth_bps": 1e11}))
