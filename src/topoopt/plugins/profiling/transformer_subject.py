"""A transformer as what is to be measured: the operators of one layer, and of both ends, at tensor splits."""

from collections.abc import Iterator, Sequence

from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling.inference import FLOAT_BYTES
from topoopt.plugins.profiling.shapes import (
    CoreShape,
    DenseShape,
    ElementwiseShape,
    EmbeddingShape,
    NormShape,
    Shape,
)
from topoopt.plugins.profiling.subject import Subject, distinct_operators
from topoopt.workloads import Operator, PartSize, Weight
from topoopt.workloads.transformer import TransformerModel

TENSOR_DEGREES = (1, 2, 4, 8)
MICRO_BATCHES = (1, 2, 4, 8)


def subject_of_transformer(
    model: TransformerModel,
    *,
    tensor_degrees: Sequence[int] = TENSOR_DEGREES,
    micro_batches: Sequence[int] = MICRO_BATCHES,
) -> Subject:
    """Return the operators of a transformer, with micro-batches as samples and tensor degrees as channel degrees.

    Of each layer kind every distinct operator is there once: projections, the attention's core, feed-forward
    matrices or one expert's, norms, and at the ends the embedding and the logits. One sample is a sequence of
    ``model.sequence`` tokens. An expert is measured whole and with the tokens of an even share.

    Raises
    ------
    InvalidInput
        If no tensor degree divides the heads, or the model has layers with a recurrence.
    """
    if model.recurrent_layers:
        raise InvalidInput(
            f"model: {model.name} has {model.recurrent_layers} layers with a recurrence, which are not measured; "
            "measure a model that has attention in every layer"
        )
    degrees = [degree for degree in sorted({*tensor_degrees}) if model.heads % degree == 0]
    if not degrees:
        refused = ", ".join(str(degree) for degree in tensor_degrees)
        raise InvalidInput(
            f"tensor_parallel: none of {refused} divides the {model.heads} heads of {model.name}"
        )
    rows = [
        (_operator(name, kind, shape, model, dim), shape, _sizes(dim, degrees, micro_batches))
        for name, kind, shape, dim in _layer(model)
    ]
    return Subject(
        model=model.name,
        source="transformer",
        servers=1,
        accelerators_per_server=1,
        batch_per_accelerator=max(micro_batches),
        operators=distinct_operators(rows),
        hyperparameters={"sequence": model.sequence},
    )


def _layer(model: TransformerModel) -> Iterator[tuple[str, str, Shape, str]]:
    """Yield name, kind, shape and the dimension that tensor parallelism cuts; ``none`` for what it leaves whole."""
    tokens = model.sequence
    yield "norm", "norm", NormShape(model.hidden, tokens, model.norm), "none"
    yield from _attention(model)
    if any(not model.is_moe(layer) for layer in range(model.layers)):
        yield from _feed_forward(model, "mlp", model.ffn, tokens, "out", "in")
    if model.experts is not None:
        share = max(1, tokens * model.experts.per_token // model.experts.count)
        yield "router", "dense", DenseShape(model.hidden, model.experts.count, tokens, bias=False), "none"
        yield from _feed_forward(model, "expert", model.experts.ffn, share, "none", "none")
        if model.experts.shared_ffn:
            yield from _feed_forward(model, "shared", model.experts.shared_ffn, tokens, "out", "in")
    yield "embedding", "lookup", EmbeddingShape(model.vocabulary, model.hidden, tokens, summed=False), "rows"
    yield "logits", "dense", DenseShape(model.hidden, model.vocabulary, tokens, bias=False), "out"


def _attention(model: TransformerModel) -> Iterator[tuple[str, str, Shape, str]]:
    tokens, heads, latent = model.sequence, model.heads, model.latent
    if latent is None:
        width = (heads * (1 + model.attention_gate) + 2 * model.kv_heads) * model.head_dim
        yield "qkv", "dense", DenseShape(model.hidden, width, tokens, model.attention_bias), "out"
        yield "core", "attention core", CoreShape(heads, model.head_dim, model.head_dim, tokens), "out"
        output = heads * model.head_dim
    else:
        query_dim = latent.nope_head_dim + latent.rope_head_dim
        down = latent.query_rank + latent.key_value_rank + latent.rope_head_dim
        yield "down", "dense", DenseShape(model.hidden, down, tokens, bias=False), "none"
        source = latent.query_rank or model.hidden
        yield "queries", "dense", DenseShape(source, heads * query_dim, tokens, bias=False), "out"
        both = heads * (latent.nope_head_dim + latent.value_head_dim)
        yield "keys_values", "dense", DenseShape(latent.key_value_rank, both, tokens, bias=False), "out"
        yield "core", "attention core", CoreShape(heads, query_dim, latent.value_head_dim, tokens), "out"
        output = heads * latent.value_head_dim
    yield "output", "dense", DenseShape(output, model.hidden, tokens, model.output_bias), "in"


def _feed_forward(
    model: TransformerModel, name: str, ffn: int, tokens: int, into: str, out_of: str
) -> Iterator[tuple[str, str, Shape, str]]:
    matrices = 2 if model.gated else 1
    yield f"{name}_in", "dense", DenseShape(model.hidden, matrices * ffn, tokens, model.mlp_bias), into
    yield f"{name}_activation", "activation", ElementwiseShape(tokens * ffn, inputs=matrices), into
    yield f"{name}_out", "dense", DenseShape(ffn, model.hidden, tokens, model.mlp_bias), out_of


def _sizes(dim: str, degrees: Sequence[int], micro_batches: Sequence[int]) -> tuple[PartSize, ...]:
    cut = degrees if dim != "none" else [1]
    return tuple(
        PartSize(micro, degree, dim if degree > 1 else "none")
        for micro in sorted({*micro_batches})
        for degree in cut
    )


def _operator(name: str, kind: str, shape: Shape, model: TransformerModel, dim: str) -> Operator:
    """Return the operator that stands for a shape; its bytes and operations are those of one sequence."""
    weights, outputs, inputs, flops = _amounts(shape)
    return Operator(
        name=name,
        kind=kind,
        inputs=(),
        weights=(Weight(f"{name}.weights", weights * FLOAT_BYTES),) if weights else (),
        output_bytes_per_sample=outputs * FLOAT_BYTES,
        forward_flops_per_sample=float(flops),
        memory_traffic_bytes_per_sample=float((inputs + outputs) * FLOAT_BYTES),
        splits=frozenset({"batch"} | ({dim} - {"none"})),
        profile_key=f"{model.family}.{name}",
    )


def _amounts(shape: Shape) -> tuple[int, int, int, int]:
    """Return the numbers in weights, outputs and inputs, and the operations, of one sequence."""
    if isinstance(shape, DenseShape):
        kernel = shape.width_in * shape.width_out
        outputs = shape.positions * shape.width_out
        bias = shape.width_out if shape.bias else 0
        return kernel + bias, outputs, shape.positions * shape.width_in, 2 * shape.positions * kernel
    if isinstance(shape, CoreShape):
        pairs = shape.heads * shape.positions**2
        outputs = shape.heads * shape.positions * shape.value_dim
        inputs = 2 * shape.heads * shape.positions * shape.head_dim + outputs
        return 0, outputs, inputs, 2 * pairs * (shape.head_dim + shape.value_dim)
    if isinstance(shape, NormShape):
        numbers = shape.positions * shape.width
        return shape.width, numbers, numbers, 5 * numbers
    if isinstance(shape, EmbeddingShape):
        numbers = shape.bag * shape.dim
        return shape.rows * shape.dim, numbers, numbers, 0
    assert isinstance(shape, ElementwiseShape)
    return 0, shape.elements, shape.inputs * shape.elements, shape.inputs * shape.elements
