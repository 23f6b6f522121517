"""The transformer of one row of a table of runs: from its shapes, or from the zoo by its name."""

import re
from contextlib import suppress
from dataclasses import replace

from topoopt.errors import InvalidInput
from topoopt.llm.runs.columns import Row, number, text, whole
from topoopt.transformer import Shapes, TransformerModel, find_transformer, model_of_shapes

GATED_FAMILIES = ("llama", "mistral", "qwen", "gemma", "deepseek")
"""Words in the architecture or model of a row whose feed-forward parts have three matrices."""

FAMILIES_WITHOUT_BIASES = ("mpt",)
"""Of those with two matrices: MPT was trained with ``no_bias`` and without dropout."""


def run_model(row: Row) -> TransformerModel:
    """Return the model of a row.

    Rows with layers and a hidden size are models of their own: heads of 128 and an inner size of 4 times the hidden
    size where those are missing. Rows without, and mixtures of experts, are looked up in the zoo.

    Raises
    ------
    InvalidInput
        If there are neither shapes nor a known name.
    """
    mixture = "moe" in text(row, "arch").lower() or number(row, "ep", 1.0) > 1
    if text(row, "layers") and text(row, "hidden") and not mixture:
        return _by_shapes(row)
    name = text(row, "model")
    why = (
        "experts: not in the table"
        if text(row, "layers") and text(row, "hidden")
        else "layers, hidden: missing"
    )
    if not name:
        raise InvalidInput(f"{why}, and there is no model name to look up")
    for word in (name, re.sub(r"\(.*?\)", "", name).strip()):
        with suppress(InvalidInput):
            return find_transformer(word)
    raise InvalidInput(f'{why}, and the zoo has no model "{name}"')


def _by_shapes(row: Row) -> TransformerModel:
    hidden = whole(row, "hidden")
    heads = whole(row, "heads", max(1, hidden // 128))
    arch = f"{text(row, 'arch')} {text(row, 'model')}".lower()
    gated = any(word in arch for word in GATED_FAMILIES)
    biases = not gated and not any(word in arch for word in FAMILIES_WITHOUT_BIASES)
    shapes = Shapes(
        layers=whole(row, "layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=whole(row, "kv_heads", heads),
        head_dim=max(1, hidden // heads),
        ffn=whole(row, "ffn", 4 * hidden),
        gated=gated,
        vocabulary=whole(row, "vocab", 51200),
        tied=not gated,
        seq=whole(row, "seq", 2048),
    )
    model = replace(model_of_shapes(shapes), name=text(row, "model") or "unnamed", positions=0)
    bias = dict.fromkeys(("attention_bias", "output_bias", "mlp_bias"), biases)
    return replace(model, family=text(row, "arch") or "gpt", **bias)  # type: ignore[arg-type]
