"""Memory of frameworks: bytes per parameter, and memory not accounted for by tensors of the model.

Mixed precision keeps 16-bit weights, an fp32 copy of them and two fp32 moments of Adam. Frameworks differ in the
gradients, and in the memory of contexts, communicators, buckets and the allocator.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import check_known
from topoopt.catalog import PRECISIONS, find_accelerator
from topoopt.jobs import TIGHT
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import ConfigurationTable

WORTH_HEADROOM = 1.01
"""Factor on the rank of tight configurations: headroom that costs less time than this is preferred."""
GIBIBYTE = 2.0**30


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes per parameter.

    Attributes
    ----------
    weights, gradients : float
    optimizer : float
        fp32 weights where they are a copy, and the moments.
    step : float
        Only while the optimizer steps, when no activations are there: gradients turned to fp32.
    """

    weights: float
    gradients: float
    optimizer: float
    step: float = 0.0


@dataclass(frozen=True, slots=True)
class Framework:
    """Memory behavior of a training framework.

    Attributes
    ----------
    fp32, fp16, bf16 : Recipe
        ``bf16`` mostly also holds for 8 and 4 bits, which are for the arithmetic only.
    fp8 : Recipe
        Recipe for 8 and 4 bits, where it differs from ``bf16``.
    reserved_bytes : float
        CUDA context, workspaces, buckets.
    source : str
    logit_bytes : float
        Per logit beside the logit itself: its copy in fp32, softmax and gradients, as far as they live at once.
    group_bytes : float
        Buffers of a communicator, of each kind of groups that a rank belongs to.
    fp8_weights : str
        ``fp8`` where layers have no other weights under fp8; ``online`` where weights of 16 bits are cast for each
        product; else they keep 16 bits, and 8 bits beside them.
    output_bytes : float
        Bytes per element of attention's output under fp8, where one copy serves attention and the following
        projection.
    whole_logits : bool
        Whether every tensor-parallel rank has all logits of its tokens, not those of its part of the vocabulary.
    keeps_logits : bool
        Whether a pipeline's last stage keeps the logits of all micro-batches until the step.
    norm_copies : float
        Memory of a norm besides input and output, in 16-bit copies of the hidden size; 0 for one kernel.
    gate_copies : float
        The same for a gated activation, in copies of the inner size.
    joint_projection : bool
        Whether values are a view of the joint projection of queries, keys and values, all of which is kept.
    reordered_output : bool
        Whether attention's output is copied to another order where a micro-batch has several sequences.
    rotary_tables : float
        Sines and cosines kept per layer, in numbers per token and element of a head.
    splits_blocks : bool
        Whether gradients that autograd allocates settle in blocks that the loss has freed, which stay split (without
        expandable segments).
    keeps_gathered : bool
        Whether gathered parts of a split sequence are kept for the backward pass, not gathered again.
    keeps_outputs : bool
        Whether a stage keeps its sent outputs for as long as its activations.
    frees_inputs : bool
        Whether the input of a chunk is freed, since its first norm runs backward from its output.
    ends_are_layers : bool
        Whether embedding and output layer may take the place of a layer each in a pipeline's stages.
    dummy_gradients : bool
        Whether kernels that add to fp32 gradients hand autograd a tensor of each weight's shape that stays.
    gathers : float
        Layers whose weights are gathered to 16 bits at once, while parameters outside of layers stay gathered
        (FSDP); 0 where whole weights are stored.
    compiled : bool
        Whether a compiler gathers matrices one by one, scatters gradients in 16 bits, and has norms and activations
        computed by the kernels that read them.
    whole_in_pipelines : bool
        Whether stages of a pipeline gather weights once an iteration, and scatter gradients once: in time, traffic and
        memory they are ZeRO 1, whatever is asked for.
    every_second_product : bool
        Whether ``selective`` means to keep every second product and attention, not all but its core.
    reduced : str
        Precision in which bf16 training reduces gradients, unless a configuration sets ``gradients``;
        empty for 32 bits.
    offloads : tuple of str
        Data that can be offloaded to the host's memory: ``optimizer``, ``activations``.
    held : float
        Share of them that the allocator holds beyond need, and gives back when memory is short.
    unfused : str
        Names in :data:`~topoopt.transformers.UNFUSED_PARTS` that run operation by operation, or whole where a
        slice would do, in times and traffic, joined by ``+``; empty where a calibration, or a row of a table of
        runs, gives them.
    """

    fp32: Recipe
    fp16: Recipe
    bf16: Recipe
    fp8: Recipe
    reserved_bytes: float
    source: str
    logit_bytes: float
    group_bytes: float = 0.0
    fp8_weights: str = ""
    output_bytes: float = 0.0
    whole_logits: bool = False
    keeps_logits: bool = False
    norm_copies: float = 0.0
    gate_copies: float = 0.0
    joint_projection: bool = False
    reordered_output: bool = False
    rotary_tables: float = 0.0
    splits_blocks: bool = False
    keeps_gathered: bool = False
    keeps_outputs: bool = False
    frees_inputs: bool = False
    ends_are_layers: bool = False
    dummy_gradients: bool = False
    gathers: float = 0.0
    compiled: bool = False
    whole_in_pipelines: bool = False
    every_second_product: bool = False
    reduced: str = ""
    offloads: tuple[str, ...] = ()
    held: float = 0.0
    unfused: str = ""

    def recipe(self, precision: str) -> Recipe:
        """Return the bytes per parameter at a precision."""
        if precision in ("fp32", "tf32"):
            return self.fp32
        return {"fp16": self.fp16, "fp8": self.fp8, "fp4": self.fp8}.get(precision, self.bf16)


def _frameworks() -> Mapping[str, Framework]:
    path = resources.files("topoopt.transformers") / "data" / "frameworks.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    recipes = {name: Recipe(**row) for name, row in tables["recipe"].items()}
    return {
        name: Framework(
            fp32=recipes["full"],
            fp16=recipes[row.pop("fp16")],
            fp8=recipes[row.pop("fp8", row["bf16"])],
            bf16=recipes[row.pop("bf16")],
            reserved_bytes=row.pop("reserved_gibibytes") * GIBIBYTE,
            group_bytes=row.pop("group_gibibytes", 0.0) * GIBIBYTE,
            offloads=tuple(row.pop("offloads", ())),
            **row,
        )
        for name, row in tables["framework"].items()
    }


FRAMEWORKS: Mapping[str, Framework] = _frameworks()
"""Frameworks by name."""


def usual_framework(accelerator: str) -> str:
    """Return the default framework: ``maxtext`` on TPUs, else ``megatron``."""
    return "maxtext" if find_accelerator(accelerator).architecture == "TPU" else "megatron"


def find_framework(name: str) -> Framework:
    """Return a framework by its name.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names.
    """
    check_known("framework", name, FRAMEWORKS)
    return FRAMEWORKS[name]


def shared_by(table: ConfigurationTable, framework: str) -> ConfigurationTable:
    """Return configurations with gradients and ZeRO as a framework has them: the precision in which it reduces those
    in 16 bits; at most ZeRO 1 in pipelines that gather and scatter once.

    Raises
    ------
    InvalidInput
        If there is no such framework, with the nearest names.
    """
    rules = find_framework(framework)
    if rules.reduced:
        unsaid = (table.gradients == 0) & (table.precision == PRECISIONS.index("bf16"))
        table = replace(
            table, gradients=np.where(unsaid, STORED_PRECISIONS.index(rules.reduced), table.gradients)
        )
    if not rules.whole_in_pipelines or not np.any((table.pp > 1) & (table.zero > 1)):
        return table
    return replace(table, zero=np.where(table.pp > 1, np.minimum(table.zero, 1), table.zero))


def weighed_s(seconds: Floats | float, needed_bytes: Floats | float, capacity_bytes: float) -> Floats:
    """Return the times for ranking: a configuration without free memory must be a percent faster.

    Examples
    --------
    >>> weighed_s(10.0, 79e9, 80e9).item(), weighed_s(10.0, 70e9, 80e9).item()
    (10.1, 10.0)
    """
    tight = (needed_bytes > TIGHT * capacity_bytes) & (needed_bytes <= capacity_bytes)
    return np.asarray(np.where(tight, WORTH_HEADROOM, 1.0) * seconds)
