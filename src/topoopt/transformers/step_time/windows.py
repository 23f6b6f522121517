"""What a window saves: the share of a causal core that a fused kernel computes in an average layer with attention."""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.step_time.shapes import Shapes

WINDOW_TILE = 128.0
"""Queries that a fused kernel takes at once: of a window it computes the keys of all of them (FlashAttention-2)."""


def computed_share(shapes: Shapes, sequence: Floats | Ints) -> Floats:
    """Return the share by which windows shorten the core, 1 without any.

    Of s tokens, a causal mask leaves s/2 a token, a window w that slides ``w·(1 - w/2s)`` and a chunk of w ``w/2``. A
    kernel works on tiles, of which the mask cuts off corners: windows have a tile's more keys than they let through, up
    to what is computed without a window. Kernels that write scores (eager) compute them all, windows or not.
    """
    if not shapes.any_window:
        return np.ones(())
    window = np.where(shapes.window > 0, np.minimum(shapes.window + WINDOW_TILE, sequence), sequence)
    ratio = window / sequence
    seen = np.where(shapes.chunked > 0, ratio, ratio * (2 - ratio))
    with_window = shapes.window_share / np.maximum(shapes.attention_share, 1e-9)
    return np.asarray(1 - with_window * (1 - seen), np.float64)


def allowed_tokens(shapes: Shapes, sequence: Floats | Ints) -> Floats:
    """Return the tokens that a token may see in an average layer, without a causal mask; 0 where no attention is."""
    everything = sequence * shapes.attention_share
    if not shapes.any_window:
        return np.asarray(everything, np.float64)
    window = np.where(shapes.window > 0, np.minimum(shapes.window, sequence), sequence)
    return np.asarray(everything - shapes.window_share * (sequence - window), np.float64)
