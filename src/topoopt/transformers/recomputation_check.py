"""Check that what is to be computed again is there: parts of the model, layers of a chunk."""

from topoopt.base.errors import InvalidInput
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.recomputation import FULL, RECOMPUTED_PARTS, recomputation_bits
from topoopt.workloads.transformer import TransformerModel


def check_recomputation(model: TransformerModel, one: Configuration) -> None:
    """Refuse parts that the model does not have, and layers that there are not.

    Raises
    ------
    InvalidInput
        One line: the word, its value, why not, and what is allowed.
    """
    bits = recomputation_bits(one.recompute)
    named = [] if bits & FULL else [part for place, part in enumerate(RECOMPUTED_PARTS) if bits >> place & 1]
    lacking = {"experts": model.experts is None, "latent": model.latent is None}
    for part in named:
        if lacking.get(part, False):
            has = ", ".join(name for name in RECOMPUTED_PARTS if not lacking.get(name, False))
            raise InvalidInput(f"recompute {one.recompute}: {model.name} has no {part} part; it has {has}")
    if not one.recompute_layers:
        return
    if not bits:
        raise InvalidInput(
            f"recompute_layers {one.recompute_layers}: nothing is computed again; give recompute=full or parts"
        )
    most = -(-model.layers // (one.pp * one.vpp))
    if one.recompute_layers > most:
        raise InvalidInput(
            f"recompute_layers {one.recompute_layers}: a chunk has at most {most} of {model.layers} layers; "
            f"give 1..{most}"
        )
