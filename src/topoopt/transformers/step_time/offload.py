"""Time of offloading to host memory.

With an offloaded optimizer, gradients are copied to the host and updated weights back once a step, before and after
the update on the host, whose arithmetic is not counted. Offloaded activations are copied out behind the forward pass
and back behind the backward pass; the step waits for the exposed part.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.transformers.step_time.case import Case

GRADIENT_BYTES = 4.0
WEIGHT_BYTES = 2.0


def offloaded_step_s(case: Case, kept: Floats) -> Floats:
    """Return the time that transfers of gradients and weights add to a step.

    Parameters
    ----------
    kept : array
        Parameters whose optimizer state an accelerator has.

    Raises
    ------
    InvalidInput
        If the link to the host is not known.
    """
    share = case.table.offload_optimizer
    if not np.any(share):
        return np.zeros(())
    return np.asarray(share * kept * (GRADIENT_BYTES + WEIGHT_BYTES) / _rate(case, "optimizer"), np.float64)


def offloaded_layer_s(case: Case, forward_s: Floats, backward_s: Floats) -> Floats:
    """Return the time that a layer's passes of one micro-batch wait for activations in transfer.

    Parameters
    ----------
    forward_s, backward_s : array
        Passes of a layer, with recomputation.

    Raises
    ------
    InvalidInput
        If the link to the host is not known.
    """
    share = case.table.offload_activations
    if not np.any(share):
        return np.zeros(())
    shapes = case.shapes
    inner = shapes.ffn * shapes.dense_share
    inner = inner + shapes.moe_share * (shapes.per_token * shapes.expert_ffn + shapes.shared_ffn)
    heads = (shapes.heads + np.maximum(shapes.kv_heads, case.tp)) * (shapes.head_dim + shapes.value_dim)
    split = (heads + (shapes.into + 1) * inner) / case.tp
    numbers = np.where(case.table.recomputes("full"), 1.0, 4.0) * shapes.hidden / case.local_tp
    kept_bytes = 2 * case.tokens * (numbers + np.where(case.table.recomputes("full"), 0.0, split))
    one_way = share * kept_bytes / _rate(case, "activations")
    return np.maximum(one_way - forward_s, 0.0) + np.maximum(one_way - backward_s, 0.0)


def _rate(case: Case, what: str) -> Floats:
    rate = case.machine.host_bytes_per_s
    if np.any(np.isnan(rate)):
        raise InvalidInput(
            f"offload_{what}: the catalogue has no rate of this accelerator's link to its host; leave it at 0"
        )
    return rate
