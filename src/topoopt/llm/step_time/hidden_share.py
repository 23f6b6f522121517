"""Which share of the communication inside a pass hides behind its computation, as :func:`estimate` has it."""

from collections.abc import Mapping

from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.configuration import Configuration
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.step_time.case import case_of
from topoopt.llm.step_time.layer_time import layer_kernels
from topoopt.llm.step_time.micro_batch import key_round_s
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
    case = case_of(model, configuration_table([configuration]), system, calibration)
    core_s, ring_s = float(layer_kernels(case).core_s[0]), float(key_round_s(case)[0])
    passes = 2 if configuration.recompute == "none" else 3
    return {"tp": tensor, "cp": min(passes * core_s / ((passes + 1) * ring_s), 1.0)}
