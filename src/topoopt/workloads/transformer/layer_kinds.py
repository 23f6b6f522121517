"""The kinds of layers that a model has, each as a model of such layers only."""

from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.workloads.transformer.model import TransformerModel


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers that are alike but for windows.

    Attributes
    ----------
    model : TransformerModel
        The model as if all of its layers were of this kind.
    is_moe : bool
        Whether they have experts.
    mixer, feed_forward : str
        As :meth:`TransformerModel.mixer` and :meth:`TransformerModel.feed_forward` have them.
    layers : tuple of int
        Which ones of the model, counted from 0.
    """

    model: TransformerModel
    is_moe: bool
    mixer: str
    feed_forward: str
    layers: tuple[int, ...]


@lru_cache(maxsize=256)
def layer_kinds(model: TransformerModel) -> tuple[LayerKind, ...]:
    """Return the kinds of layers of a model, in the order in which they first come.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> [(kind.is_moe, len(kind.layers)) for kind in layer_kinds(find_transformer("deepseek-v3"))]
    [(False, 3), (True, 58)]
    """
    found: dict[tuple[str, str], list[int]] = {}
    for layer in range(model.layers):
        found.setdefault((model.mixer(layer), model.feed_forward(layer)), []).append(layer)
    return tuple(
        LayerKind(_only(model, *kind), kind[1] == "E", *kind, tuple(layers)) for kind, layers in found.items()
    )


def _only(model: TransformerModel, mixer: str, feed_forward: str) -> TransformerModel:
    """Return the model with these layers only; itself where its layers differ by their experts only."""
    if not model.mixers and not model.feed_forwards:
        return model
    with_windows = model.window_layers if mixer == "*" else 0
    return replace(model, mixers=mixer, feed_forwards=feed_forward, window_layers=with_windows)
