"""Durations of every chunk of a pipeline, for whoever replays the iteration as tasks."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.configuration import Configuration
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.step_time.closed_form import combined_s, straggle
from topoopt.llm.step_time.collective_time import Links
from topoopt.llm.step_time.machine import machine_of
from topoopt.llm.step_time.micro_batch import MicroBatch, micro_batch, work_of
from topoopt.llm.step_time.replica_time import StageWork, replica_times
from topoopt.llm.step_time.shapes import shapes_of
from topoopt.llm.step_time.times import ChunkTimes
from topoopt.llm.system import System
from topoopt.transformer import TransformerModel

Floats = NDArray[np.float64]


def chunk_times(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> ChunkTimes:
    """Return forward and backward time of one micro-batch in each chunk, consistent with :func:`estimate`.

    Chunk c runs on stage ``c % pp``. Layers that do not divide evenly go to the first stages, one more each; the last
    chunk has the logits. Left out is what leaves a server: pipeline transfers, data parallel collectives, and tensor,
    context or expert groups that span servers.
    """
    table = configuration_table([configuration])
    shapes, machine = shapes_of(model), machine_of(system)
    work, links = work_of(table, machine, calibration), Links(machine, calibration)
    one = micro_batch(shapes, table, work, machine, links, calibration)
    layers = _chunk_layers(model.layers, configuration)
    forward, backward = _passes(one, layers)
    launches = layers * one.launch_s + one.chunk_launch_s
    # The host goes on launching while ranks wait, so launches are weighed against all waits before any is left out.
    longer = combined_s(forward + backward, launches) / (forward + backward)
    factor = longer * straggle(table, machine, calibration)
    within_forward, within_backward = _passes(_inside_a_server(one, configuration, system), layers)
    kernels_s = sum(_passes(_without_waits(one), layers))
    nothing, of_stage = np.zeros(1), layers[:1] * configuration.vpp
    stage = StageWork(of_stage, nothing, nothing)
    step = replica_times(shapes, table, work, machine, links, calibration, stage)
    return ChunkTimes(
        forward * factor - (forward - within_forward),
        backward * factor - (backward - within_backward),
        float(step.step_s[0]),
        within_forward + within_backward - kernels_s,
    )


def _passes(one: MicroBatch, layers: Floats) -> tuple[Floats, Floats]:
    """Return the forward and backward time of each chunk without its launches; the last has the logits."""
    kernels, logits = one.kernels, np.zeros_like(layers)
    logits[-1] = 1.0
    waits = one.tp_s + one.cp_s + one.ep_s
    forward = layers * (kernels.forward_s + (1 - one.backward_share) * waits)
    backward = layers * (kernels.backward_s + one.recompute_s + one.backward_share * waits)
    return (
        forward + logits * (kernels.logits_forward_s + one.logits_tp_s / 2),
        backward + logits * (kernels.logits_backward_s + one.logits_tp_s / 2),
    )


def _chunk_layers(layers: int, configuration: Configuration) -> Floats:
    """Return the layers of each chunk; those of a stage are spread over its chunks evenly, in fractions."""
    fewest, spare = divmod(layers, configuration.pp)
    stages = np.array([fewest + (stage < spare) for stage in range(configuration.pp)], np.float64)
    return np.tile(stages / configuration.vpp, configuration.vpp)


def _inside_a_server(one: MicroBatch, configuration: Configuration, system: System) -> MicroBatch:
    """Return the micro-batch without the waits for groups that span servers."""
    size = system.accelerators_per_server
    tp = float(configuration.tp <= size)
    cp = float(configuration.tp * configuration.cp <= size)
    ep = float(configuration.ep * configuration.etp <= size)
    return replace(
        one, tp_s=one.tp_s * tp, logits_tp_s=one.logits_tp_s * tp, cp_s=one.cp_s * cp, ep_s=one.ep_s * ep
    )


def _without_waits(one: MicroBatch) -> MicroBatch:
    nothing = np.zeros_like(one.tp_s)
    return replace(one, tp_s=nothing, logits_tp_s=nothing, cp_s=nothing, ep_s=nothing)
