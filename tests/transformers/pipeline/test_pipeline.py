"""From a configuration to a pipelined step: its bytes, its groups, and its time against estimate and simulators."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformers.shapes import SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import COLLECTIVES, TRANSFER, TaskGraph, pipeline_task_graph, pipelined_time, simulate
from topoopt.transformers import (
    ORDER,
    ChunkTimes,
    Configuration,
    System,
    communications,
    configuration_table,
    estimate,
    find_calibration,
    make_pipelined_step,
    pipelined_step,
    place_ranks,
    server_traffic,
    zipf_loads,
)
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.traffic import Traffic
from topoopt.workloads.transformer import find_transformer

SYSTEM = System("h100", 8, 3600e9, 400e9)
CALIBRATION = find_calibration("h100")


def configured(tp: int, pp: int, dp: int, batches: int = 8, **others: object) -> Configuration:
    settings = {"sequence": 64, "sequence_parallel": tp > 1, **others}
    return Configuration(tp=tp, pp=pp, dp=dp, global_batch=batches * dp, **settings)  # type: ignore[arg-type]


LAYOUTS = {
    "pipeline of servers": configured(8, 4, 2),
    "interleaved, ZeRO 1": configured(2, 2, 8, vpp=2, zero=1, sequence_parallel=False),
    "tensor parallel over two servers, ZeRO 2": configured(16, 2, 2, zero=2),
    "context parallel over servers": configured(8, 1, 4, cp=4),
    "exchanges of heads over servers": configured(4, 1, 4, cp=4, context="ulysses"),
    "keys gathered over servers": configured(8, 2, 2, cp=2, context="all-gather"),
    "adapters of experts, ZeRO 2": configured(1, 1, 32, ep=8, zero=2, adapter_rank=4),
    "adapters of stages inside servers, ZeRO 3": configured(1, 4, 8, zero=3, adapter_rank=4, adapters="qkv"),
    "stages inside servers, ZeRO 3": configured(1, 4, 8, cp=2, zero=3),
    "experts over servers": configured(2, 2, 8, ep=8, etp=2, zero=1),
    "experts cut like the rest": configured(8, 2, 8, ep=8, etp=8),
    "experts inside servers, ZeRO 2": configured(1, 1, 32, ep=8, zero=2),
    "experts cut in two, ZeRO 3": configured(2, 4, 8, ep=2, etp=2, zero=3),
    "embedding and output layer in chunks of their own": configured(8, 2, 2, vpp=5, zero=1),
    "embedding and output layer in chunks of their own, ZeRO 3": configured(1, 2, 16, vpp=5, zero=3),
    "zero-bubble, ZeRO 2": configured(8, 4, 2, zero=2, schedule="zero-bubble"),
    "DualPipe, ZeRO 1": configured(8, 4, 2, zero=1, schedule="dualpipe"),
    "DualPipe of experts over servers": configured(2, 2, 8, ep=8, etp=2, zero=1, schedule="dualpipe"),
    "DualPipe of adapters": configured(4, 4, 4, adapter_rank=4, schedule="dualpipe"),
}


def step_of(
    configuration: Configuration, zipf: float = 0.0, order: str = ORDER, seed: int | None = None
) -> tuple[PipelinedStep, Traffic]:
    """Return the step of a small model, and the traffic of its communications; a seed scatters the ranks."""
    model = small_model(SMALL_EXPERTS if configuration.ep > 1 else None, layers=8, kv_heads=8)
    loads = zipf_loads(model, zipf, seed=1) if zipf else None
    sent = communications(model, configuration, loads, order)
    slots = None if seed is None else np.random.default_rng(seed).permutation(configuration.accelerators)
    places = place_ranks(configuration.accelerators, 8, slots)
    count = configuration.pp * configuration.vpp
    times = ChunkTimes(np.full(count, 1e-3), np.full(count, 2e-3), 1e-3, np.zeros(count))
    step = pipelined_step(model, configuration, SYSTEM, CALIBRATION, places, times, sent, order)
    return step, server_traffic(sent, places)


def agree(one: Traffic, other: Traffic, messages: int) -> None:
    """Check that two traffics are equal but for a byte of rounding per message."""
    sums = [{group.members: group.size_bytes for group in each.allreduce} for each in (one, other)]
    assert sums[0] == pytest.approx(sums[1], abs=1)
    assert np.abs(one.mp_matrix() - other.mp_matrix()).max() <= messages


@pytest.mark.parametrize("name", LAYOUTS)
def test_its_servers_send_what_the_ranks_send(name: str) -> None:
    step, expected = step_of(LAYOUTS[name])
    agree(step.traffic, expected, messages=64 * step.micro_batches)


@pytest.mark.parametrize("name", LAYOUTS)
def test_so_they_do_in_another_order_of_ranks_and_wherever_ranks_sit(name: str) -> None:
    for order, seed in (("tp-cp-ep-pp-dp", None), (ORDER, 1)):
        step, expected = step_of(LAYOUTS[name], order=order, seed=seed)
        agree(step.traffic, expected, messages=512 * step.micro_batches)


def wire_bytes(graph: TaskGraph) -> float:
    """What the tasks of a graph put on the wire in all."""
    count = np.diff(graph.member_first)
    kinds = ("allreduce", "reduce-scatter", "all-gather", "all-to-all")
    factor = np.array([2, 1, 1, 1])[[kinds.index(COLLECTIVES[c]) for c in graph.collective]]
    sent = np.where(graph.kind == TRANSFER, 1, factor * (count - 1)) * graph.size_bytes
    return float(sent[(graph.kind == TRANSFER) | (count > 1)].sum())


@pytest.mark.parametrize("name", LAYOUTS)
def test_its_tasks_send_what_its_servers_send(name: str) -> None:
    step, _ = step_of(LAYOUTS[name], seed=2)
    sent = step.traffic
    expected = sent.mp_bytes + sent.allreduce_wire_bytes
    assert wire_bytes(pipeline_task_graph(step)) == pytest.approx(expected, rel=1e-5)


def test_uneven_loads_are_exchanges_of_unequal_pairs_one_turn_after_the_other() -> None:
    step, expected = step_of(LAYOUTS["experts over servers"], zipf=1.2)
    agree(step.traffic, expected, messages=64 * step.micro_batches)
    assert all(one.pair_bytes for one in step.exchanges if one.collective == "all-to-all")
    first = [one for one in step.exchanges if (one.chunk, one.direction) == (0, "forward") and one.pair_bytes]
    assert len({one.turn for one in first}) == len(first) == 2 * 4  # dispatch and combine of four layers


def test_workers_inside_a_server_have_one_part_and_others_one_for_each_rank() -> None:
    assert step_of(LAYOUTS["pipeline of servers"])[0].part_servers.shape == (4, 2, 1)
    assert step_of(LAYOUTS["tensor parallel over two servers, ZeRO 2"])[0].part_servers.shape == (2, 2, 16)


def test_only_experts_whose_group_spans_servers_exchange() -> None:
    near = step_of(LAYOUTS["experts inside servers, ZeRO 2"])[0].exchanges
    assert {one.collective for one in near} == {"reduce-scatter"}
    groups = {one.members for one in step_of(LAYOUTS["experts cut like the rest"])[0].exchanges}
    assert groups == {tuple(range(8)), tuple(range(8, 16))}


def test_a_tied_embedding_joins_first_and_last_stage() -> None:
    model = replace(small_model(), tied=True)
    step = make_pipelined_step(model, configured(8, 4, 2), SYSTEM, CALIBRATION)
    tied = [one for one in step.synchronizations if len(one.chunks) == 2]
    assert {(one.chunks, one.members, one.turn) for one in tied} == {((0, 3), (0, 6), 1), ((0, 3), (1, 7), 1)}


def test_interleaving_needs_a_multiple_of_the_stages() -> None:
    with pytest.raises(InvalidInput, match="micro-batches: the interleaved schedule needs a multiple"):
        make_pipelined_step(small_model(), configured(8, 4, 2, batches=6, vpp=2), SYSTEM, CALIBRATION)


REAL = {
    "1F1B": ("llama3-8b", configured(8, 4, 2, 16, sequence=8192)),
    "1F1B, TP without SP": ("llama3-8b", configured(4, 4, 4, 16, sequence=8192, sequence_parallel=False)),
    "interleaved": ("llama3-8b", configured(8, 4, 2, 16, sequence=8192, vpp=4)),
    "TP across servers": ("llama3-70b", configured(16, 2, 2, 8, sequence=8192)),
    "TP across servers, bound by launches": ("llama2-7b", configured(16, 2, 2, 8, sequence=2048)),
    "ZeRO 0": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192)),
    "ZeRO 1": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192, zero=1)),
    "ZeRO 2": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192, zero=2)),
    "ZeRO 3": ("llama3-8b", configured(2, 1, 32, 4, sequence=8192, zero=3)),
    "interleaved, gradients longer than a pass": ("llama3-70b", configured(4, 2, 8, 2, sequence=2048, vpp=2)),
    "experts cut like the rest": ("mixtral-8x7b", configured(4, 2, 8, 8, sequence=4096, ep=4, etp=4, zero=1)),
    "EP inside servers": ("mixtral-8x7b", configured(2, 4, 8, 16, sequence=4096, ep=8, zero=1)),
    "EP across servers": ("qwen3-30b-a3b", configured(1, 2, 16, 16, sequence=4096, ep=16, zero=1)),
    "EP across servers, a copy for each expert": (
        "qwen3-30b-a3b",
        configured(1, 2, 16, 16, sequence=4096, ep=16, zero=1, exchange="flat"),
    ),
    "EP across servers, in 8 bits": (
        "qwen3-30b-a3b",
        configured(1, 2, 16, 16, sequence=4096, ep=16, zero=1, dispatch="fp8"),
    ),
    "EP across servers, overlapped": (
        "qwen3-30b-a3b",
        configured(1, 2, 16, 16, sequence=4096, ep=16, zero=1, vpp=4, overlap_experts=True),
    ),
    "EP inside servers, overlapped, launched as graphs": (
        "qwen3-30b-a3b",
        configured(1, 1, 16, 16, sequence=4096, ep=8, zero=1, overlap_experts=True, graphs=True),
    ),
    "CP across servers": ("llama3-8b", configured(4, 2, 2, 8, sequence=32768, cp=4, zero=1)),
    "CP across servers, attention computed again": (
        "llama3-8b",
        configured(4, 2, 2, 8, sequence=32768, cp=4, recompute="selective"),
    ),
    "CP across servers and inside": ("llama3-8b", configured(2, 2, 2, 8, sequence=32768, cp=8, zero=1)),
    "CP across servers by exchanges of heads": (
        "llama3-8b",
        configured(4, 2, 2, 8, sequence=32768, cp=4, zero=1, context="ulysses", recompute="full"),
    ),
    "CP across servers by all-gathers": (
        "llama3-8b",
        configured(8, 1, 2, 8, sequence=32768, cp=4, zero=1, context="all-gather"),
    ),
    "CP by all-gathers across servers and inside": (
        "llama3-8b",
        configured(2, 2, 2, 8, sequence=32768, cp=8, context="all-gather", recompute="selective"),
    ),
    "CP by exchanges of heads inside servers": (
        "llama3-8b",
        configured(2, 2, 4, 8, sequence=32768, cp=4, context="ulysses"),
    ),
    "adapters, ZeRO 1": ("llama3-8b", configured(4, 2, 4, 8, sequence=8192, zero=1, adapter_rank=16)),
    "adapters, ZeRO 3": (
        "llama3-8b",
        configured(2, 1, 32, 4, sequence=8192, zero=3, adapter_rank=64, adapters="attention"),
    ),
    "documents of uneven lengths": (
        "llama3-8b",
        configured(4, 4, 4, 16, sequence=32768, vpp=2, document=2048, document_spread=1.0),
    ),
    "ZeRO 3 with stages": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192, zero=3)),
    "ZeRO 3 with interleaved stages": ("llama3-8b", configured(2, 2, 16, 4, sequence=8192, zero=3, vpp=2)),
    "HSDP": ("llama3-8b", configured(2, 1, 32, 4, sequence=8192, zero=3, shard=8)),
    "HSDP with stages": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192, zero=2, shard=4)),
    "optimizer states in shards": ("llama3-8b", configured(2, 2, 16, 8, sequence=8192, zero=1, shard=4)),
    "experts in shards": ("mixtral-8x7b", configured(1, 2, 32, 8, sequence=4096, ep=8, zero=1, shard=16)),
    "layers without experts first, chunks of unequal layers": (
        "deepseek-v3",
        configured(1, 8, 64, 16, sequence=4096, ep=64, zero=1, vpp=7, recompute="full"),
    ),
    "a stage without experts": (
        "deepseek-v3",
        configured(1, 32, 16, 32, sequence=4096, ep=16, zero=1, recompute="full", micro_batch=1),
    ),
    "layers without experts first": (
        "qwen3.5-397b-a17b",
        configured(1, 4, 32, 16, sequence=4096, ep=32, zero=1),
    ),
    "two chunks more than layers": ("llama3-8b", configured(8, 2, 2, 16, sequence=8192, vpp=17)),
    "uneven stages": ("llama3-8b", configured(8, 3, 2, 16, sequence=8192)),
    "zero-bubble": ("llama3-8b", configured(8, 4, 2, 16, sequence=8192, schedule="zero-bubble")),
    "zero-bubble, bound by launches": (
        "llama3-8b",
        configured(8, 4, 2, 8, sequence=2048, schedule="zero-bubble"),
    ),
    "zero-bubble, most in the last stage": (
        "llama3-8b",
        configured(4, 8, 2, 16, sequence=8192, zero=1, schedule="zero-bubble"),
    ),
    "zero-bubble, ZeRO 2": (
        "llama3-8b",
        configured(2, 2, 16, 8, sequence=8192, zero=2, schedule="zero-bubble"),
    ),
    "zero-bubble, ZeRO 3": (
        "llama3-8b",
        configured(2, 2, 16, 8, sequence=8192, zero=3, schedule="zero-bubble"),
    ),
    "zero-bubble of experts": (
        "mixtral-8x7b",
        configured(2, 4, 8, 16, sequence=4096, ep=8, zero=1, schedule="zero-bubble"),
    ),
    "DualPipe": ("llama3-8b", configured(4, 8, 2, 32, sequence=8192, zero=1, schedule="dualpipe")),
    "DualPipe, ZeRO 0": ("llama3-8b", configured(8, 4, 2, 16, sequence=8192, schedule="dualpipe")),
    "DualPipe on two stages": (
        "llama3-8b",
        configured(4, 2, 2, 8, sequence=8192, zero=1, schedule="dualpipe"),
    ),
    "DualPipe of experts": (
        "mixtral-8x7b",
        configured(2, 4, 8, 16, sequence=4096, ep=8, zero=1, schedule="dualpipe"),
    ),
    "DualPipe of experts across servers": (
        "qwen3-30b-a3b",
        configured(1, 8, 16, 64, sequence=4096, ep=16, zero=1, schedule="dualpipe"),
    ),
}


FURTHER_APART = {
    "layers without experts first, chunks of unequal layers": 1.2e-2,
    "two chunks more than layers": 2.6e-2,
    "ZeRO 3 with interleaved stages": 1.1e-2,
    "DualPipe, ZeRO 0": 2.2e-2,
    "DualPipe of experts": 1.3e-2,
}
"""Cases in which the closed form's bubble, that of equal chunks, is more than 1 % of an iteration off."""


def switched(step: PipelinedStep) -> Fabric:
    return build_fabric(
        "ideal-switch", FabricRequest(step.servers, 8, 400e9, pipeline_task_graph(step).groups)
    )


@pytest.mark.parametrize("name", REAL)
def test_estimate_closed_form_and_flow_simulator_agree(name: str) -> None:
    model, configuration = find_transformer(REAL[name][0]), REAL[name][1]
    step = make_pipelined_step(model, configuration, SYSTEM, CALIBRATION)
    fabric = switched(step)
    flow_s = simulate("flow", pipeline_task_graph(step), fabric).iteration_time_s
    further = FURTHER_APART.get(name, 1e-2)
    least = min(further, 1.2e-2)
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(flow_s, rel=least)
    estimated = estimate(model, configuration_table([configuration]), SYSTEM, CALIBRATION)
    assert estimated.iteration_time_s[0] == pytest.approx(flow_s, rel=further)


@pytest.mark.parametrize("exchange", ["flat", "hierarchical"])
def test_hot_experts_take_as_long_in_all_three(exchange: str) -> None:
    """In closed form a layer is an average one; in the others every layer has loads of its own."""
    model = find_transformer("qwen3-30b-a3b")
    one = configured(1, 2, 16, 16, sequence=4096, ep=16, zero=1, exchange=exchange)
    loads = zipf_loads(model, 1.0)
    step = make_pipelined_step(model, one, SYSTEM, CALIBRATION, loads)
    fabric = switched(step)
    flow_s = simulate("flow", pipeline_task_graph(step), fabric).iteration_time_s
    assert pipelined_time(step, fabric).iteration_time_s == pytest.approx(flow_s, rel=1e-2)
    estimated, even = (
        estimate(model, configuration_table([one]), SYSTEM, CALIBRATION, each).iteration_time_s[0]
        for each in (loads, None)
    )
    assert estimated == pytest.approx(flow_s, rel=6e-2)
    assert estimated > 1.2 * even


@pytest.mark.parametrize("schedule", ["1f1b", "zero-bubble", "dualpipe"])
def test_gradients_of_weights_are_passes_of_their_own_where_the_schedule_splits(schedule: str) -> None:
    """A layer's gradients of weights take as long as its forward products, which attention is not part of."""
    one = configured(8, 4, 2, 16, sequence=8192, zero=1, schedule=schedule)
    step = make_pipelined_step(find_transformer("llama3-8b"), one, SYSTEM, CALIBRATION)
    assert (step.schedule, step.ends * step.micro_batches) == (schedule, 16)
    for chunk in step.chunks:
        assert 0.2 * chunk.backward_s < chunk.weights_s < 0.5 * chunk.backward_s
    assert len(step.pass_s) == (2 if schedule == "1f1b" else 3)


def test_both_stages_of_a_rank_sum_up_gradients_with_dualpipe() -> None:
    """The layers of stage 0 are on the first servers and on the last ones, in every replica."""
    step = make_pipelined_step(
        find_transformer("llama3-8b"),
        configured(8, 4, 2, 16, zero=1, schedule="dualpipe"),
        SYSTEM,
        CALIBRATION,
    )
    summed = {sync.chunks: sync.members for sync in step.synchronizations if sync.size_bytes}
    assert summed == {(0, 4): (0, 1, 6, 7), (1, 5): (2, 3, 4, 5), (2, 6): (2, 3, 4, 5), (3, 7): (0, 1, 6, 7)}
    assert step.chunk_stage.tolist() == [0, 1, 2, 3, 3, 2, 1, 0]
