"""Memory of the fullest accelerator of every configuration, by cause.

The first, second and last stage are computed: the first holds most micro-batches, the second has experts where the
first layers are dense, the last has the logits. The fullest counts.
"""

from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.transformers.columns import Bools, blocks_of
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.adapters import adapted_states
from topoopt.transformers.memory.communicators import communicator_bytes
from topoopt.transformers.memory.frameworks import (
    FRAMEWORKS,
    Framework,
    capacity_bytes,
    find_framework,
    shared_by,
)
from topoopt.transformers.memory.kept import LayerKeeps, layer_kinds, stage_activations
from topoopt.transformers.memory.moment import Moment, lost_bytes, moment_bytes, moment_of
from topoopt.transformers.memory.stages import first_holds_most, stage_of
from topoopt.transformers.memory.states import (
    StateBytes,
    cast_bytes,
    stage_parameters,
    stage_states,
    state_bytes,
)
from topoopt.transformers.memory.waiting import inner_stages
from topoopt.workloads.transformer import TransformerModel

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
        What the framework takes beside tensors.
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

_BY_STAGE = (*MEMORY_CAUSES, "total", "slack", "stage")


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
        One of :data:`~topoopt.transformers.FRAMEWORKS`: what a parameter costs, and what is taken beside tensors.

    Raises
    ------
    InvalidInput
        For an unknown accelerator, attention or framework.

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022.
    """
    blocks = [
        _memory_of_block(common_of(model, block, accelerator, attention, framework))
        for block in blocks_of(table)
    ]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in _BY_STAGE}
    return MemoryColumns(**columns, capacity_bytes=capacity_bytes(find_accelerator(accelerator)))


def _memory_of_block(common: "Common") -> dict[str, Any]:
    """Return the columns of a few configurations, which stay in the processor's cache."""
    last = common.table.pp - 1
    fullest = vars(stage_memory(common, np.zeros_like(last)))
    table, between = common.table, list[Ints]()
    if not first_holds_most(common.model, table, common.framework.ends_are_layers):
        between.append(np.minimum(1, last))
    if np.any(table.schedule):
        between += inner_stages(table, common.model.layers)
    for index in (*between, last):
        other = vars(stage_memory(common, index))
        more = other["total"] > fullest["total"]
        fullest = {name: np.where(more, other[name], fullest[name]) for name in _BY_STAGE}
    return fullest


def check_offload(table: ConfigurationTable, framework: str) -> None:
    """Refuse what a framework cannot keep in the host's memory.

    Raises
    ------
    InvalidInput
        With the frameworks that can.
    """
    for what in ("optimizer", "activations"):
        if np.any(getattr(table, f"offload_{what}")) and what not in find_framework(framework).offloads:
            able = ", ".join(name for name, one in FRAMEWORKS.items() if what in one.offloads)
            raise InvalidInput(
                f"offload_{what}: {framework} keeps {what} on the accelerator; these can do otherwise: {able}"
            )


@dataclass(frozen=True, eq=False)
class Common:
    """What the memory of every stage follows from."""

    model: TransformerModel
    table: ConfigurationTable
    framework: Framework
    kinds: tuple[LayerKeeps, ...]
    moment: Moment
    overhead: Floats
    states: StateBytes
    capacity: float


def common_of(
    model: TransformerModel, table: ConfigurationTable, accelerator: str, attention: str, framework: str
) -> Common:
    """Return what all stages have in common; arguments as in :func:`memory`."""
    check_known("attention", attention, ATTENTION_KERNELS)
    rules = find_framework(framework)
    check_offload(table, framework)
    table = shared_by(table, framework)
    part = find_accelerator(accelerator)
    fused = np.full(len(table), attention == "fused")
    kinds, moment = layer_kinds(model, table, fused, rules), moment_of(model, table, fused, rules)
    overhead = rules.reserved_bytes + communicator_bytes(table, rules)
    states = state_bytes(table, rules, cast_bytes(part))
    return Common(model, table, rules, kinds, moment, overhead, states, capacity_bytes(part))


def stage_memory(common: Common, index: Ints) -> MemoryColumns:
    """Return the memory of an accelerator of stage ``index``."""
    model, table, framework = common.model, common.table, common.framework
    stage = stage_of(model, table, index, framework.ends_are_layers)
    tokens = table.sequence * table.micro_batch / table.cp
    everything = stage_states(stage_parameters(model, table, stage), table, framework, common.states)
    states = adapted_states(model, table, stage, framework, everything)
    kept, again = stage_activations(table, stage, model, common.kinds, framework)
    activations = (kept + np.where(stage.is_last, 2 * common.kinds[0].entry, 0.0)) * tokens
    logits, buffers = moment_bytes(common.moment, stage, again, tokens)
    buffers = buffers + lost_bytes(common.moment, stage, states.gradients + activations, tokens)
    moving = activations + logits + buffers
    causes = {
        "parameters": states.parameters,
        "gradients": states.gradients,
        "optimizer": states.optimizer,
        "activations": activations,
        "logits": logits,
        "buffers": buffers + np.maximum(states.step - moving, 0.0),
        "overhead": common.overhead,
    }
    total = reduce(np.add, causes.values())
    slack = framework.held * moving + np.minimum(states.step, moving)
    return MemoryColumns(
        **causes, total=total, slack=slack, stage=stage.index, capacity_bytes=common.capacity
    )
