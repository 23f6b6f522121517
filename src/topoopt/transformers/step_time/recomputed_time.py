"""What computing some parts of a layer again takes: the forward time of these parts, in the layers that it is about."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.layer_time import LayerKernels, part_kernels

PARTS = ("norms", "activation", "experts", "latent")
"""Parts beside attention's core; the forward pass of each is in :func:`part_kernels`."""


def again_s(case: Case, layer: LayerKernels) -> Floats:
    """Return the kernels that run again in the backward pass of an average layer."""
    table = case.table
    full = table.recomputes("full")
    again = np.where(full, layer.forward_s, table.recomputes("core") * layer.core_s)
    wanted = [part for part in PARTS if np.any(table.recomputes(part) & ~full)]
    if wanted:
        forward_s = part_kernels(case)
        for part in wanted:
            inside = part == "activation"  # of experts that are computed again as a whole
            does = table.recomputes(part) & ~full & ~(inside & table.recomputes("experts"))
            again = again + does * forward_s[part]
    return np.asarray(again * recomputed_layers(table, case.shapes.layers), np.float64)


def recomputed_layers(table: ConfigurationTable, layers: Floats) -> Floats:
    """Return the share of all layers that recomputation is about."""
    if not np.any(table.recompute_layers):
        return np.ones(())
    some = np.minimum(table.recompute_layers * table.vpp * table.pp / layers, 1.0)
    return np.where(table.recompute_layers > 0, some, 1.0)
