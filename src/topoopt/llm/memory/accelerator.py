"""Memory of the fullest accelerator of every configuration, by cause.

The first, second and last stage are computed: the first holds most micro-batches, the second has experts where the
first layers are dense, the last has the logits. The fullest counts.
"""

from dataclasses import dataclass, fields

import numpy as np

from topoopt.errors import check_known
from topoopt.hardware import find_accelerator
from topoopt.llm.columns import Bools, Floats, Ints
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.memory.context import context_buffers
from topoopt.llm.memory.frameworks import Framework, capacity_bytes, find_framework
from topoopt.llm.memory.layer import ELEMENT_BYTES, has_dropout, layer_activations, widest_gradients
from topoopt.llm.memory.stages import Stage, stage_of
from topoopt.llm.memory.states import stage_states
from topoopt.transformer import TransformerModel

ATTENTION_KERNELS = ("fused", "eager")
"""``fused`` never writes the scores (FlashAttention); ``eager`` keeps scores, softmax and dropout of all pairs."""


@dataclass(frozen=True, eq=False)
class MemoryColumns:
    """Bytes on the fullest accelerator, each a float array of shape (configurations,), but ``stage`` and ``fits``.

    Attributes
    ----------
    parameters, gradients, optimizer : array
    activations : array
        What the layers keep for the backward pass, of all micro-batches in flight.
    logits : array
        Of one micro-batch, with their softmax and gradient; 0 where the fullest stage is not the last.
    buffers : array
        For a moment: the layer that is computed again, gradients of a layer's activations, what arrives over the
        network, gathered weights; and what the optimizer's step needs beyond all of this and the activations.
    overhead : array
        What the framework takes beside tensors, and what its allocator loses.
    total : array
        What is needed: the sum of these.
    slack : array
        What the allocator would hold beyond, and gives back when memory is short: nvidia-smi shows both.
    stage : int64 array
        Which stage is the fullest.
    capacity_bytes : float
        Of the accelerator.
    """

    parameters: Floats
    gradients: Floats
    optimizer: Floats
    activations: Floats
    logits: Floats
    buffers: Floats
    overhead: Floats
    total: Floats
    slack: Floats
    stage: Ints
    capacity_bytes: float

    @property
    def fits(self) -> Bools:
        """Whether each configuration fits into the accelerator."""
        return self.total <= self.capacity_bytes

    def row(self, index: int) -> dict[str, float]:
        """Return the bytes of one configuration by cause; ``total`` is their sum."""
        return {cause: float(getattr(self, cause)[index]) for cause in MEMORY_CAUSES}


MEMORY_CAUSES = tuple(
    column.name
    for column in fields(MemoryColumns)
    if column.name not in ("total", "slack", "stage", "capacity_bytes")
)
"""What memory goes to."""


def memory(
    model: TransformerModel,
    table: ConfigurationTable,
    accelerator: str,
    attention: str = "fused",
    framework: str = "megatron",
) -> MemoryColumns:
    """Return the memory of the fullest accelerator of every configuration.

    Parameters
    ----------
    model : TransformerModel
    table : ConfigurationTable
    accelerator : str
        A name or alias of the catalogue.
    attention : str
        One of :data:`ATTENTION_KERNELS`. Today's stacks fuse attention, so ``fused`` is the default; runs before
        2023 are mostly ``eager``.
    framework : str
        One of :data:`~topoopt.llm.FRAMEWORKS`: what a parameter costs, and what is taken beside tensors.

    Raises
    ------
    InvalidInput
        For an unknown accelerator, attention or framework.

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022.
    """
    check_known("attention", attention, ATTENTION_KERNELS)
    rules = find_framework(framework)
    capacity = capacity_bytes(find_accelerator(accelerator))
    last = table.pp - 1
    stages = [
        stage_memory(model, table, stage_of(model, table, index), rules, capacity, attention)
        for index in (np.zeros_like(last), np.minimum(1, last), last)
    ]
    fullest = np.argmax([stage.total for stage in stages], axis=0)
    columns = {
        name: np.choose(fullest, [getattr(stage, name) for stage in stages])
        for name in (*MEMORY_CAUSES, "total", "slack", "stage")
    }
    return MemoryColumns(**columns, capacity_bytes=capacity)


def stage_memory(
    model: TransformerModel,
    table: ConfigurationTable,
    stage: Stage,
    framework: Framework,
    capacity: float,
    attention: str = "fused",
) -> MemoryColumns:
    """Return the memory of an accelerator of one stage; arguments as in :func:`memory`."""
    tokens = table.sequence * table.micro_batch / table.cp
    states = stage_states(model, table, stage, framework)
    kept, again = _activations(model, table, stage, np.full(len(table), attention == "fused"))
    element = ELEMENT_BYTES[table.precision]
    entry = element * model.hidden * np.where(table.sequence_parallel > 0, 1.0 / table.tp, 1.0)
    logits = (
        np.where(stage.is_last, (element + framework.logit_bytes) * model.vocabulary / table.tp, 0.0) * tokens
    )
    passing = np.where(table.pp > 1, 2 * entry, 0.0) + element * model.hidden * (table.sequence_parallel > 0)
    passing = passing + element * context_buffers(model, table)
    moment = (again + widest_gradients(model, table) + passing) * tokens + states.gathered
    activations = (kept + np.where(stage.is_last, 2 * entry, 0.0)) * tokens
    moving = activations + logits + moment
    causes = {
        "parameters": states.parameters,
        "gradients": states.gradients,
        "optimizer": states.optimizer,
        "activations": activations,
        "logits": logits,
        "buffers": moment + np.maximum(states.step - moving, 0.0),
        "overhead": framework.reserved_bytes + framework.lost * moving,
    }
    total = np.sum(list(causes.values()), axis=0)
    slack = framework.held * moving + np.minimum(states.step, moving)
    return MemoryColumns(**causes, total=total, slack=slack, stage=stage.index, capacity_bytes=capacity)


def _activations(
    model: TransformerModel, table: ConfigurationTable, stage: Stage, fused: Bools
) -> tuple[Floats, Floats]:
    """Return bytes per token that a stage keeps, and those of the one layer that is being computed again."""
    full = table.recomputes("full")
    selective = table.recomputes("core")
    kept, again = np.zeros(len(table)), np.zeros(len(table))
    kinds = [(stage.layers - stage.moe_layers, False)]
    if model.experts is not None:
        kinds.append((stage.moe_layers, True))
    for layers, is_moe in kinds:
        one = layer_activations(model, table, is_moe, fused)
        everything = one.rest + one.core
        # A fused kernel computes its core again by itself; what it keeps is too little to give up.
        keeps = np.select([full, selective & ~fused], [one.entry, one.rest], everything)
        kept = kept + layers * keeps
        again = np.maximum(again, np.where(layers > 0, everything - keeps, 0.0))
    masks = np.where(stage.is_first, one.entry / ELEMENT_BYTES[table.precision] * has_dropout(model), 0.0)
    return stage.in_flight * (kept + masks), again
