"""Iteration times of many configurations of a transformer, in closed form.

Beyond the published formula (:mod:`topoopt.transformers.step_time.apnet24`), it covers: efficiency of products by
their shape, the launch rate of the host, the logits of the last stage, groups that span servers, and communication
hidden behind computation.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import PRECISIONS
from topoopt.transformers.communication.message import wire_element_bytes
from topoopt.transformers.communication.passes import sent_slices
from topoopt.transformers.configuration_table import (
    Bools,
    ConfigurationTable,
    blocks_of,
    join_rows,
    take_rows,
)
from topoopt.transformers.expert_loads import ExpertLoads
from topoopt.transformers.step_time.adapter_time import adapter_flops_per_token
from topoopt.transformers.step_time.attention_time import allowed_tokens, tokens_seen
from topoopt.transformers.step_time.calibration import Calibration
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.data_parallel_time import optimizer_step_s, replica_waits_s
from topoopt.transformers.step_time.micro_batch import MicroBatch, micro_batch
from topoopt.transformers.step_time.pipeline_bubble import StagePasses, hidden_transfers, split_bubble_s
from topoopt.transformers.step_time.shapes import Shapes
from topoopt.transformers.system import System
from topoopt.workloads.transformer import TransformerModel

STEP_PARTS = ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")
"""Parts of an iteration's time; they add up to it."""
_ROW = ("iteration_time_s", *STEP_PARTS, "exposed_communication_s")


@dataclass(frozen=True, eq=False)
class StepTimes:
    """The parts of one iteration, each a float64 array of shape (configurations,), in seconds.

    ``iteration_time_s`` is the sum of the others without ``communication_s`` and ``exposed_communication_s``.

    Attributes
    ----------
    compute_s : array
        Kernels of the slowest stage with recomputation, logits and the optimizer's step.
    tp_s, cp_s, ep_s, pp_s, dp_s : array
        Time that the slowest stage waits for tensor, context, expert, pipeline and data parallel communication.
    bubble_s : array
        Time that the slowest stage waits for others while the pipeline fills and drains.
    exposed_communication_s : array
        Sum of the five waits.
    model_flops : array
        FLOPs per accelerator and iteration without recomputation, embedding lookups or work of no use.
    """

    iteration_time_s: Floats
    compute_s: Floats
    tp_s: Floats
    cp_s: Floats
    ep_s: Floats
    pp_s: Floats
    dp_s: Floats
    bubble_s: Floats
    exposed_communication_s: Floats
    model_flops: Floats

    def __len__(self) -> int:
        return len(self.iteration_time_s)

    def row(self, index: int) -> dict[str, float]:
        """Return the seconds of one configuration: the whole, its parts, and the waits together."""
        return {name: float(getattr(self, name)[index]) for name in _ROW}


@dataclass(frozen=True, eq=False)
class ChunkTimes:
    """Durations of one micro-batch in every chunk (virtual stage), in the order in which it passes through them.

    Attributes
    ----------
    forward_s, backward_s : float64 array, shape (pp · vpp,)
        Durations including everything within a server: kernels, recomputation (in ``backward_s``), and tensor,
        context and expert parallel collectives whose group fits into a server.
    step_s : float
        Time after the last micro-batch, on every accelerator: the optimizer and fixed overhead.
    inside_s : float64 array, shape (pp · vpp,)
        Part of both passes spent in those collectives.
    weights_s : float64 array, shape (pp · vpp,)
        Part of ``backward_s`` for the gradients of weights, for which no other chunk waits.
    """

    forward_s: Floats
    backward_s: Floats
    step_s: float
    inside_s: Floats
    weights_s: Floats = field(default_factory=lambda: np.zeros(()))


ACTIVATION_BYTES = np.array([wire_element_bytes(name) for name in PRECISIONS], np.float64)
SLOW_NETWORK_BYTES_PER_S = 12.5e9
"""Below 100 Gb/s an accelerator waiting for others grows, to the calibrated ``slow_straggling`` at half of it: the two
rates of the clusters with pipelines that calibrations are fitted to."""


def estimate(
    model: TransformerModel,
    table: ConfigurationTable,
    system: System,
    calibration: Calibration,
    loads: ExpertLoads | None = None,
) -> StepTimes:
    """Return the step times of all configurations of a table, in its order.

    The configurations must be valid for the model (:func:`~topoopt.transformers.check_configuration`); memory is not
    looked at. ``loads`` are those of the experts, even if not given.

    Examples
    --------
    >>> from topoopt.transformers import Configuration, configuration_table, find_calibration
    >>> from topoopt.workloads.transformer import find_transformer
    >>> table = configuration_table([Configuration(tp=8, pp=8, dp=4, global_batch=512, sequence=2048)])
    >>> system = System("h100", 8, 3.6e12, 400e9)
    >>> times = estimate(find_transformer("gpt3-175b"), table, system, find_calibration("h100"))
    >>> bool(12 < times.iteration_time_s[0] < 16)
    True
    """
    whole = case_of(model, table, system, calibration, loads)
    return join_rows([step_times(replace(whole, table=block)) for block in blocks_of(table)])


def step_times(case: Case) -> StepTimes:
    """Return the step times of configurations of one model and system, or of one per row.

    The iteration is as long as that of the slowest stage: the busiest, or one with more layers, which has more to
    exchange with its replicas.
    """
    one = micro_batch(case)
    busiest, rows, other = slowest_stages(case, one)
    times = _at_pace_of(case, one, busiest)
    if len(rows):
        longer = _at_pace_of(case.take(rows), take_rows(one, rows), take_rows(other, rows))
        slower = longer.iteration_time_s > times.iteration_time_s[rows]
        for name, column in vars(times).items():
            column[rows[slower]] = getattr(longer, name)[slower]
    return times


_Columns = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of each pipeline, as columns.

    Attributes
    ----------
    layers, has_logits : array
        Layers of the stage, and whether it has the logits.
    busy_s, others_s : array
        Time of one micro-batch in it, and in all other stages together.
    """

    layers: Floats
    has_logits: Floats
    busy_s: Floats
    others_s: Floats
    other_stages: Floats


def slowest_stages(case: Case, one: MicroBatch) -> tuple[Stage, Ints, Stage]:
    """Return the busiest stage of each pipeline, the rows where one with more layers may be slower, and that one.

    Layers that do not divide evenly go to the first stages, so that the last, with the logits and multi-token
    prediction, has the fewest. A rank of DualPipe has a stage and its mirror image, and half of the micro-batches
    go through either: its ranks at the ends, or those in the middle.
    """
    layers, pp, vpp = case.shapes.layers, case.table.pp.astype(np.float64), case.table.vpp.astype(np.float64)
    mtp = case.shapes.mtp_layers
    # The last stage gives up a layer for each further token, and one for its output layer, if it has so many.
    given = np.where(np.floor((layers + 2 * mtp) / pp) > 2 * mtp, 2 * mtp, 0)
    fewest = np.floor((layers + given) / pp)
    spare = layers + given - fewest * pp
    most = fewest + (spare > 0)
    logits_s = one.kernels.logits_forward_s + one.kernels.logits_backward_s + one.logits_tp_s
    final = fewest - given + mtp
    last = stage_s(final, case.outputs * logits_s, one, vpp)
    first = stage_s(most, np.zeros(()), one, vpp)
    middle = np.where(spare > 0, stage_s(fewest, np.zeros(()), one, vpp), first)
    all_s = last + np.where(spare > 0, spare * first + (pp - 1 - spare) * middle, (pp - 1) * first)
    ends: _Columns = final, case.outputs, last
    inner: _Columns = most, np.zeros(()), first
    at_ends = (last >= first) | (pp == 1)  # frozen logits may take less than the layers that they took away
    others_s = all_s - np.where(at_ends, last, first)
    dual = case.table.has_word("schedule", "dualpipe")
    if np.any(dual):
        even = spare > pp / 2  # the stages in the middle, and their mirror images, have the most layers
        both = (most + final) / 2, case.outputs / 2, (first + last) / 2
        half = (most + fewest) / 2, np.zeros(()), (first + middle) / 2
        ends, inner = _where(dual, both, ends), _where(dual & ~even, half, inner)
        at_ends = np.where(dual, ends[2] >= inner[2], at_ends)
    busiest = Stage(*_where(at_ends, ends, inner), others_s, pp - 1)
    rows = np.flatnonzero((ends[0] != inner[0]) & ((ends[0] < inner[0]) == at_ends) & (pp > 1))
    if not len(rows):
        return busiest, rows, busiest
    layers, logits, busy_s = _where(at_ends, inner, ends)
    return busiest, rows, Stage(layers, logits, busy_s, np.where(dual, others_s, all_s - busy_s), pp - 1)


def _at_pace_of(case: Case, one: MicroBatch, stage: Stage) -> StepTimes:
    table, batches = case.table, case.batches
    slow = straggle(case)
    hop_s = transfers_s(case)
    dp_s, step_s = replica_waits_s(case, stage.layers, one), optimizer_step_s(case, stage.layers)
    busy = stage.busy_s * batches * slow
    waits = batches * slow * stage.layers
    tp_s = waits * one.tp_s + batches * slow * stage.has_logits * one.logits_tp_s
    cp_s, ep_s = waits * one.cp_s, waits * one.ep_s
    pp_s = batches * hop_s * (1 - hidden_hops(case))
    bubble = _bubble_s(case, one, stage, hop_s)
    return StepTimes(
        iteration_time_s=busy + pp_s + bubble + dp_s + step_s,
        compute_s=busy - tp_s - cp_s - ep_s + step_s,
        tp_s=tp_s,
        cp_s=cp_s,
        ep_s=ep_s,
        pp_s=pp_s,
        dp_s=dp_s,
        bubble_s=bubble,
        exposed_communication_s=tp_s + cp_s + ep_s + pp_s + dp_s,
        model_flops=model_flops(case.shapes, table) / (table.tp * table.cp * table.dp * table.pp),
    )


def _where(rows: Bools, columns: _Columns, others: _Columns) -> _Columns:
    """Return columns of these rows, and of the other rows those of others."""
    first, second, third = (np.where(rows, *pair) for pair in zip(columns, others, strict=True))
    return first, second, third


def stage_s(layers: Floats, extra_s: Floats, one: MicroBatch, chunks: Floats) -> Floats:
    """Return the time of a micro-batch in all chunks of a stage: kernels and waits, or launches if those are longer."""
    layer_s = (
        one.kernels.forward_s + one.kernels.backward_s + one.recompute_s + one.tp_s + one.cp_s + one.ep_s
    )
    launches = layers * one.launch_s + chunks * one.chunk_launch_s
    return combined_s(layers * layer_s + extra_s, launches)


def combined_s(kernels_s: Floats, launches_s: Floats) -> Floats:
    """Return the time of kernels that the host launches one after the other.

    Somewhat above the longer of the two (the 3-norm): where they are alike, neither hides all of the other.
    """
    ratio = np.minimum(kernels_s, launches_s) / np.maximum(kernels_s, launches_s)
    longer: Floats = np.maximum(kernels_s, launches_s)
    factor: Floats = np.cbrt(1 + ratio * ratio * ratio)
    return longer * factor


def _bubble_s(case: Case, one: MicroBatch, stage: Stage, hop_s: Floats) -> Floats:
    """Return the time that a stage waits for others while the pipeline fills and drains.

    With 1F1B that is both passes in all others, with v chunks in each stage a v-th of it. The first micro-batch
    and the last go through all chunks, and nothing hides the transfers between these.
    """
    table = case.table
    others_s = stage.others_s + stage.layers * (one.ep_alone_s - one.ep_s) * stage.other_stages
    usual_s: Floats = others_s / table.vpp + (table.pp - 1 / table.vpp) * hop_s
    if not np.any(table.schedule):
        return usual_s
    return split_bubble_s(table, _passes(case, one, stage, others_s), hop_s, usual_s)


def _passes(case: Case, one: MicroBatch, stage: Stage, others_s: Floats) -> StagePasses:
    """Return the passes of a stage and of all others; launches make all of them longer alike."""
    kernels, waits = one.kernels, one.tp_s + one.cp_s + one.ep_alone_s
    layers, logits = stage.layers, stage.has_logits
    other_layers = np.maximum(case.shapes.layers + case.shapes.mtp_layers - layers, 0.0)
    other_logits = case.outputs - logits
    backward_s = kernels.backward_s + one.recompute_s + one.backward_share * waits
    both_s = kernels.forward_s + backward_s + (1 - one.backward_share) * waits - one.ep_alone_s + one.ep_s
    both_logits_s = kernels.logits_forward_s + kernels.logits_backward_s + one.logits_tp_s
    longer = stage.busy_s / (layers * both_s + logits * both_logits_s)
    longer_others = stage.others_s / np.maximum(other_layers * both_s + other_logits * both_logits_s, 1e-30)
    return StagePasses(
        paired_s=stage.busy_s,
        weights_s=longer * (layers * kernels.weights_s + logits * kernels.logits_weights_s),
        others_s=others_s,
        others_paired_s=stage.others_s,
        others_backward_s=longer_others
        * (other_layers * backward_s + other_logits * kernels.logits_backward_s),
        others_weights_s=longer_others
        * (other_layers * kernels.weights_s + other_logits * kernels.logits_weights_s),
    )


def straggle(case: Case) -> Floats:
    """Return the factor by which servers wait for the slowest one, more so over a slow network.

    Every micro-batch of a pipeline waits for other servers. Replicas without stages wait for each other once an
    iteration, over which the differences between servers even out: from 8 to 1,024 accelerators InternLM lost no more
    than its gradients explain. Slices of hundreds of accelerators wait for each other's slow network: from 1 to 32 of
    TPU v5e, at 25 Gb/s an accelerator, MaxText lost 11 to 19 % (both in benchmarks/data/train_runs.csv).
    """
    table, machine = case.table, case.machine
    servers = np.maximum(table.tp * table.cp * table.dp * table.pp / machine.per_server, 1.0)
    slow = np.clip(SLOW_NETWORK_BYTES_PER_S / machine.network_bytes_per_s - 1, 0.0, 1.0)
    law = case.calibration
    of_stages = law.straggling + law.slow_straggling * slow
    share = np.where(table.pp > 1, of_stages, law.replica_straggling * slow)
    return np.asarray(1 + share * np.log2(servers), np.float64)


def hidden_hops(case: Case) -> Floats:
    """Return the share of the transfers between stages that hide while the pipeline is full.

    Those of interleaved stages behind the work on other chunks, and as far as schedules hide them.
    """
    by_schedule = hidden_transfers(case.table)
    return np.where((case.table.vpp > 1) & ~case.runs_apart("hops"), 1.0, by_schedule)


def transfers_s(case: Case) -> Floats:
    """Return the transfers of one micro-batch from stage to stage and back."""
    table = case.table
    stride = case.tp * table.cp * table.dp
    return (table.pp > 1) * 2 * case.links.transfer_s(stride, sent_bytes(case)) * table.vpp


def sent_bytes(case: Case) -> Floats:
    """Return the bytes that a rank sends to the next stage, or back, per micro-batch."""
    slices = sent_slices(case.tp, case.table.sequence_parallel, case.runs_apart("sends"))
    return np.asarray(ACTIVATION_BYTES[case.table.precision] * case.tokens * case.shapes.hidden / slices)


def model_flops(shapes: Shapes, table: ConfigurationTable) -> Floats:
    """Return the FLOPs of one iteration that the model asks for: three times its forward matrix products.

    Attention counts every pair of tokens of a document that a window allows, as if there were no causal mask: without
    windows that is Megatron's formula (Narayanan 2021, equation 3). A recurrence counts its products with the state.
    Frozen weights have no gradients, so that their matrix products count twice, not three times.
    """
    tokens = table.global_batch * table.sequence.astype(np.float64)
    visited = shapes.dense_parameters + shapes.replicated_parameters
    visited = visited + shapes.expert_parameters * shapes.per_token / shapes.experts
    scores = allowed_tokens(shapes, tokens_seen(table)) * shapes.heads * (shapes.head_dim + shapes.value_dim)
    if np.any(shapes.indexed > 0):
        scores = scores + shapes.indexed * tokens_seen(table) * shapes.attention_share
    mixed = scores + shapes.recurrent_share * shapes.recurrent_products
    linear, core = shapes.layers * visited + shapes.vocabulary * shapes.hidden, shapes.layers * mixed
    if not np.any(table.adapter_rank > 0):
        return 6 * tokens * (linear + core)
    added = shapes.layers * adapter_flops_per_token(shapes, table) / 2
    return tokens * (np.where(table.adapter_rank > 0, 4, 6) * linear + 6 * (core + added))
