"""Parameters, their gradients and their optimizer state on one accelerator of a stage.

ZeRO shares out the optimizer state (1), gradients (2)
and parameters (3) over the replicas of a parameter: ``dp·cp``, or those of an expert (Rajbhandari 2020).
"""

from dataclasses import dataclass

import numpy as np

from topoopt.hardware import PRECISIONS
from topoopt.llm.columns import Floats
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.memory.frameworks import Framework
from topoopt.llm.memory.layer import ELEMENT_BYTES
from topoopt.llm.memory.stages import Stage
from topoopt.transformer import TransformerModel, count_parameters, layer_parameters


@dataclass(frozen=True, eq=False)
class States:
    """Bytes on one accelerator, each of shape (configurations,).

    Attributes
    ----------
    parameters, gradients, optimizer : float array
    step : float array
        More, while the optimizer steps.
    gathered : float array
        Whole layers under ZeRO 2 and 3, while they are at work.
    """

    parameters: Floats
    gradients: Floats
    optimizer: Floats
    step: Floats
    gathered: Floats


def stage_states(
    model: TransformerModel, table: ConfigurationTable, stage: Stage, framework: Framework
) -> States:
    """Return the states of one accelerator of a stage."""
    dense, experts = stage_parameters(model, table, stage)
    replicas = np.asarray(table.dp * table.cp, np.float64)
    expert_replicas = np.maximum(table.tp * replicas / (table.ep * table.etp), 1.0)
    rules = [framework.recipe(name) for name in PRECISIONS]

    def each(column: str) -> Floats:
        return np.array([getattr(rule, column) for rule in rules])[table.precision]

    def held(least_zero: int) -> Floats:
        shared = table.zero >= least_zero
        return dense / np.where(shared, replicas, 1.0) + experts / np.where(shared, expert_replicas, 1.0)

    return States(
        parameters=each("weights") * held(3),
        gradients=each("gradients") * held(2),
        optimizer=each("optimizer") * held(1),
        step=each("step") * held(1),
        gathered=_gathered(model, table),
    )


def stage_parameters(
    model: TransformerModel, table: ConfigurationTable, stage: Stage
) -> tuple[Floats, Floats]:
    """Return the parameters of a stage on one accelerator before ZeRO: those of every replica, and of experts."""
    dense = (stage.layers - stage.moe_layers) * _layer(model, table, False)
    experts = np.zeros(len(table))
    if model.experts is not None:
        one = layer_parameters(model, True)
        dense = dense + stage.moe_layers * _layer(model, table, True)
        experts = stage.moe_layers * one.experts / (table.ep * table.etp)
    return dense + _ends(model, table, stage), experts


def _layer(model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool) -> Floats:
    """Parameters of a layer without its routed experts."""
    one = layer_parameters(model, layer_is_moe)
    return np.asarray(one.replicated + one.split / table.tp, np.float64)


def _ends(model: TransformerModel, table: ConfigurationTable, stage: Stage) -> Floats:
    """Embeddings on the first stage; the output layer on the last, a copy even where it is tied."""
    count = count_parameters(model)
    first = count.embedding / table.tp + count.positions + count.extra
    own = np.where(table.pp > 1, count.embedding, count.output)
    last = own / table.tp + model.norm_parameters
    return np.where(stage.is_first, first, 0.0) + np.where(stage.is_last, last, 0.0)


def _gathered(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Weights of the layer at work and of the next one (ZeRO 3), gradients of one layer (ZeRO 2 and 3)."""
    layer = _layer(model, table, model.is_moe(model.layers - 1))
    if model.experts is not None:
        layer = layer + layer_parameters(model, True).experts / (table.ep * table.etp)
    unit = np.maximum(layer, model.vocabulary * model.hidden / table.tp)
    copies = 2.0 * (table.zero >= 3) + (table.zero >= 2)
    return np.asarray(ELEMENT_BYTES[table.precision] * unit * copies * (table.dp * table.cp > 1), np.float64)
