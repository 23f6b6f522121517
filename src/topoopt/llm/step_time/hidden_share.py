"""Which share of the communication inside a pass hides behind its computation, as :func:`estimate` has it."""

from collections.abc import Mapping

import numpy as np

from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.configuration import Configuration
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.step_time.collective_time import Links
from topoopt.llm.step_time.layer_time import Kernels
from topoopt.llm.step_time.machine import machine_of
from topoopt.llm.step_time.micro_batch import work_of
from topoopt.llm.step_time.shapes import shapes_of
from topoopt.llm.system import System
from topoopt.transformer import TransformerModel


def hidden_shares(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> Mapping[str, float]:
    """Return the share by the kind of communication; of kinds that are not named, nothing hides.

    Tensor-parallel collectives hide only with sequence parallelism, by the calibrated share. Keys and values that go
    round the context-parallel ranks hide behind the attention's core, as far as it is long enough.
    """
    tensor = calibration.tensor_overlap if configuration.sequence_parallel else 0.0
    if configuration.cp == 1:
        return {"tp": tensor}
    table = configuration_table([configuration])
    shapes, machine = shapes_of(model), machine_of(system)
    work, links = work_of(table, machine, calibration), Links(machine, calibration)
    core_s = float(Kernels(machine, calibration).layer(shapes, work).core_s[0])
    heads = np.maximum(shapes.kv_heads / work.tp, 1)
    round_bytes = 2 * work.tokens * heads * (shapes.head_dim + shapes.value_dim) * configuration.cp
    ring_s = float(links.ring_s(table.cp.astype(np.float64), work.tp, round_bytes)[0])
    passes = 2 if configuration.recompute == "none" else 3
    return {"tp": tensor, "cp": min(passes * core_s / ((passes + 1) * ring_s), 1.0)}
