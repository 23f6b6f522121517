"""Verbs that are asked for the same job on the same network answer with the same time."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topoopt
from topoopt.catalog import find_accelerator
from topoopt.frontends.web import answer_question, question_of
from topoopt.inference import Parallelism
from topoopt.inference.step.law import reduce_s
from topoopt.inference.step.replica import replica
from topoopt.reinforcement.job import shipped_constants
from topoopt.search import SearchOptions
from topoopt.transformers import usual_system

FABRICS = ["ideal-switch", "rail"]
"""Both give every accelerator its NIC, and no link of theirs is short: one time is that of the other."""
PORTS: Mapping[str, Any] = {"degree": 8, "bandwidth": "400Gbps"}
JOBS: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "llama3-8b": (8, {}),
    "dlrm": (8, PORTS),
}
MORE: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "qwen3-30b-a3b": (8, {}),
    "candle": (8, PORTS),
    "llama3-70b": (32, {}),
    "mixtral-8x7b": (8, {}),
    "gpt3-175b": (64, {}),
    "vgg16": (16, PORTS),
    "bert": (16, PORTS),
    "resnet50": (16, PORTS),
    "ncf": (16, PORTS),
}
Times = Mapping[str, float]
FURTHER_APART = {"qwen3-30b-a3b": 0.014, "mixtral-8x7b": 0.014, "ncf": 0.02}
"""Groups of experts on one server's NICs are served in turn by the analytic simulator, and alike by the others; the
connections of the 240 pairs of NCF's tables do not end at once."""


@cache
def compared(model: str, simulator: str) -> Times:
    servers, network = {**JOBS, **MORE}[model]
    answer = topoopt.compare(model, servers=servers, fabrics=FABRICS, simulator=simulator, **network)
    rows = answer.to_frame()
    return dict(zip(rows.fabric, rows.iteration_time_s, strict=True))


def in_cluster(model: str, folder: Path) -> Times:
    servers, network = {**JOBS, **MORE}[model]
    trace = folder / "trace.csv"
    trace.write_text(f"id,model,servers,arrival_s,iterations\nalone,{model},{servers},0,5\n")
    answer = topoopt.cluster.run(trace, servers=servers, fabrics=FABRICS, **network)
    return {run.fabric: run.iteration_time_s.mean for run in answer.fabrics}


def swept(model: str, folder: Path) -> Times:
    """With the effort that a plan takes: a sweep takes less where nothing is said."""
    servers, network = {**JOBS, **MORE}[model]
    effort = (
        {name: getattr(SearchOptions(), name) for name in ("budget", "chains", "rounds")} if network else {}
    )
    words = "".join(f"{word}: {value}\n" for word, value in {**network, **effort}.items())
    file = folder / "sweep.yaml"
    file.write_text(f"models: {model}\nservers: {servers}\n{words}fabrics: [ideal-switch, rail]\n")
    topoopt.sweep(file, out=folder / "sweep.duckdb", processes=1)
    rows = topoopt.results(folder / "sweep.duckdb", columns="fabric,iteration_time_s").to_frame()
    return dict(zip(rows.fabric, rows.iteration_time_s, strict=True))


def searched(model: str, _: Path) -> Times:
    """In closed form, of the configuration that is fastest."""
    if JOBS.get(model, MORE.get(model, (0, PORTS)))[1]:
        return {}
    servers = {**JOBS, **MORE}[model][0]
    found = topoopt.llm.search(model, accelerators=8 * servers, accelerator="h100", top=1).to_frame()
    return dict.fromkeys(FABRICS, float(found.iteration_time_s[0]))


def in_studio(model: str, _: Path) -> Times:
    """At once, in closed form."""
    servers, network = {**JOBS, **MORE}[model]
    kind = {} if network else {"accelerator": "h100"}
    answer = answer_question(question_of({"model": model, "servers": servers, **PORTS, **kind}))
    return {row.fabric: row.iteration_time_s for row in answer.fabrics if row.rule in FABRICS}


VERBS: Mapping[str, Callable[[str, Path], Times]] = {
    "compare --simulator flow": lambda model, _: compared(model, "flow"),
    "cluster run": in_cluster,
    "sweep": swept,
    "llm search": searched,
    "studio": in_studio,
}
ANOTHER_STRATEGY = {("studio", "dlrm"): 0.06, ("studio", "candle"): 0.04}
"""The studio knows a few strategies of a graph of operators, and a plan searches."""


def check(model: str, verb: str, folder: Path) -> None:
    known, apart = compared(model, "analytic"), FURTHER_APART.get(model, 0.01)
    apart = ANOTHER_STRATEGY.get((verb, model), apart)
    assert known["rail"] == pytest.approx(known["ideal-switch"], rel=1e-3)
    for fabric, seconds in VERBS[verb](model, folder).items():
        if fabric in FABRICS:
            assert seconds == pytest.approx(known[fabric], rel=apart), fabric


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("model", JOBS)
def test_one_job_alone_takes_as_long_by_every_verb(model: str, verb: str, tmp_path: Path) -> None:
    check(model, verb, tmp_path)


@pytest.mark.parametrize("model", ["llama3-8b", pytest.param("qwen3-30b-a3b", marks=pytest.mark.long)])
def test_the_studio_and_a_comparison_recommend_the_same_network(model: str) -> None:
    servers, network = {**JOBS, **MORE}[model]
    fabrics = ["direct", "ideal-switch", "rail", "expander"]
    compared = topoopt.compare(model, servers=servers, fabrics=fabrics, **network).to_json()
    kind = {} if network else {"accelerator": "h100"}
    answer = answer_question(question_of({"model": model, "servers": servers, **PORTS, **kind}))
    ties = [
        row.fabric for row in answer.fabrics if row.usd_per_unit == pytest.approx(best_usd(answer), rel=5e-4)
    ]
    assert compared["recommended"] in ties
    assert answer.best in ties


def best_usd(answer: Any) -> float:
    return float(min(row.usd_per_unit for row in answer.fabrics))


def test_fine_tuning_of_all_weights_takes_as_long_as_the_same_training() -> None:
    words: dict[str, Any] = {"global_batch": 512, "seq": 4096}
    tuned = topoopt.finetune(
        "llama3-8b", accelerators=64, full=True, alone=True, fabrics=FABRICS, **words
    ).asked
    compared = topoopt.compare("llama3-8b", servers=8, fabrics=FABRICS, gradients="bf16", **words)
    found = topoopt.llm.search(
        "llama3-8b", accelerators=64, accelerator="h100", top=1, gradients="bf16", **words
    ).to_frame()
    known = {row.fabric: row.outcome.iteration_time_s for row in compared.fabrics}
    times = {row.fabric: row.outcome.iteration_time_s for row in tuned.fabrics}
    assert times == pytest.approx(known, rel=0.01)
    assert times["ideal-switch"] == pytest.approx(float(found.iteration_time_s[0]), rel=0.01)
    assert tuned.interval_share == compared.interval_share


def test_training_of_a_step_of_rl_is_the_estimate_of_its_configuration() -> None:
    """Times what frameworks of reinforcement learning add, for each optimizer step, as full as it is."""
    step = topoopt.rl(
        "qwen3-8b",
        accelerators=16,
        prompts=64,
        samples=8,
        mean_length=1000,
        max_length=4000,
        fabrics=["none"],
    )
    job, one = step.job, step.training.configuration
    names = (
        "tp",
        "pp",
        "dp",
        "cp",
        "ep",
        "micro_batch",
        "recompute",
        "zero",
        "sequence_parallel",
        "global_batch",
    )
    split = {name: getattr(one, name) for name in (*names, "document", "document_spread")}
    estimate = topoopt.llm.estimate(
        "qwen3-8b", accelerators=16, accelerator="h100", seq=one.sequence, **split
    )
    full = job.tokens / job.max_tokens / one.global_batch
    expected_s = shipped_constants().training_factor * full * job.epochs * estimate.iteration_time_s
    assert step.training.training_s == pytest.approx(expected_s, rel=0.01)


def test_a_fat_tree_carries_a_job_alike_in_a_cluster_and_in_a_comparison(tmp_path: Path) -> None:
    """Over all paths by default; hashed to one path each, connections meet on links and take longer."""
    trace = tmp_path / "trace.csv"
    trace.write_text("id,model,servers,arrival_s,iterations\nalone,dlrm,16,0,5\n")

    def times(paths: str) -> dict[str, float]:
        answer = topoopt.cluster.run(trace, servers=16, fabrics=["fat-tree"], paths=paths, **PORTS)
        return {run.variant: run.iteration_time_s.mean for run in answer.fabrics}

    compared = topoopt.compare("dlrm", servers=16, fabrics=["fat-tree"], simulator="flow", **PORTS)
    known = {row.variant: row.outcome.iteration_time_s for row in compared.fabrics[1:]}
    spread = times("spread")
    assert spread == pytest.approx(known, rel=0.012)
    assert all(time_s > spread[name] for name, time_s in times("hashed").items())


SERVED: Mapping[str, Any] = {
    "accelerator": "h100",
    "rate": 8,
    "duration": "20s",
    "isl": "512",
    "osl": "32",
    "top": 1,
}


@pytest.mark.parametrize("ranks", [16, 32])
def test_sums_of_serving_over_servers_take_as_long_as_the_collective(ranks: int) -> None:
    """Links of the fabric carry the bytes, and the step has what the collective takes beside them."""
    words: dict[str, Any] = {"mode": "chunked", "decode": f"1xtp{ranks}", "fabrics": FABRICS, **SERVED}
    for row in topoopt.serving("llama3-70b", accelerators=ranks, **words).fabrics:
        on, model = row.served.on, row.served.served.model
        one = replica(
            model,
            find_accelerator("h100"),
            Parallelism(ranks),
            row.served.deployment.settings,
            usual_system("h100"),
        )
        for tokens in (1.0, 256.0, 16384.0):
            size_bytes = 2 * model.hidden * tokens
            answer = topoopt.collective(
                "allreduce", size_bytes, accelerators=ranks, accelerator="h100", one_shot=True
            )
            assert isinstance(answer, topoopt.CollectiveTimes)
            (known,) = (time.time_s for time in answer.rows if time.size_bytes == size_bytes)
            on_links_s = on.reach.decode.step_s(tokens, np.zeros_like(on.reach.busy))
            sums_s = float(reduce_s(one, np.array([tokens]))[0]) + on_links_s
            assert sums_s == pytest.approx(2 * model.layers * known, rel=1e-3), row.fabric


def test_caches_of_serving_cross_a_switch_at_the_rate_of_the_servers_interfaces() -> None:
    """Those of 512 tokens: keys and values of 8 heads of 128 in 80 layers, in 16 bits."""
    words: dict[str, Any] = {"prefill": "1xtp8", "decode": "1xtp8", "fabrics": FABRICS, **SERVED}
    for row in topoopt.serving("llama3-70b", accelerators=16, mode="disaggregated", **words).fabrics:
        cache_bytes = 512 * 80 * 2 * 8 * 128 * 2
        assert row.served.on.reach.kv_s[0, 0] == pytest.approx(cache_bytes * 8 / (8 * 400e9), rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("model", MORE)
def test_so_do_more_jobs(model: str, verb: str, tmp_path: Path) -> None:
    check(model, verb, tmp_path)
