"""A transformer as a subject of measurement: operators of one layer, and of both ends, at tensor splits."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import fields_of, rows_to_frame, shows_itself
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.jobs import Job, operators_of
from topoopt.plugins.profiling.shapes import (
    FLOAT_BYTES,
    CoreShape,
    DenseShape,
    ElementwiseShape,
    EmbeddingShape,
    NormShape,
    Shape,
    infer_shapes,
)
from topoopt.search import CHANNEL_DIMS, candidate_splits
from topoopt.workloads import (
    Operator,
    OperatorSignature,
    OperatorSplit,
    PartSize,
    Weight,
    part_samples,
    signature_of,
)
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class SubjectOperator:
    """One operator shape and the sizes that a search may give its parts.

    Attributes
    ----------
    operator : Operator
        The first of the model that has the shape.
    count : int
        Operators of the model that have it.
    sizes : tuple of PartSize
        Ascending.
    """

    operator: Operator
    shape: Shape
    count: int
    sizes: tuple[PartSize, ...]

    @property
    def signature(self) -> OperatorSignature:
        """Key under which its times are looked up."""
        return signature_of(self.operator)


@shows_itself
@dataclass(frozen=True, eq=False)
class Subject:
    """A model to be measured; the fields are those of :class:`~topoopt.workloads.DeviceProfile`."""

    model: str
    source: str
    servers: int
    accelerators_per_server: int
    batch_per_accelerator: int
    operators: tuple[SubjectOperator, ...]
    hyperparameters: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def sizes(self) -> int:
        """Number of sizes to measure."""
        return sum(len(op.sizes) for op in self.operators)

    def rows(self) -> list[dict[str, Any]]:
        """Return the sizes to be measured, one row per operator."""
        return [
            {
                "operator": op.operator.name,
                "kind": op.operator.kind,
                "count": op.count,
                "sizes": len(op.sizes),
                "fewest_samples": min(size.samples for size in op.sizes),
                "most_samples": max(size.samples for size in op.sizes),
                "most_channel_parts": max(size.channel_degree for size in op.sizes),
            }
            for op in self.operators
        ]

    to_frame = rows_to_frame

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {
            **fields_of(self, "model", "sizes"),
            "operators": self.rows(),
            "left_out": dict(self.left_out),
        }


TENSOR_DEGREES = (1, 2, 4, 8)
MICRO_BATCHES = (1, 2, 4, 8)


def subject_of_transformer(
    model: TransformerModel,
    *,
    tensor_degrees: Sequence[int] = TENSOR_DEGREES,
    micro_batches: Sequence[int] = MICRO_BATCHES,
) -> Subject:
    """Return the operators of a transformer, with micro-batches as samples and tensor degrees as channel degrees.

    Every distinct operator of each layer kind occurs once: projections, the attention's core, feed-forward
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
    """Yield name, kind, shape and the dimension that tensor parallelism cuts; ``none`` for unsplit operators."""
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
    """Return the operator that represents a shape; its bytes and operations are those of one sequence."""
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


def subject_of_job(
    job: Job, source: str = "zoo", hyperparameters: Mapping[str, int | tuple[int, ...]] | None = None
) -> Subject:
    """Return the operators of a job with the sizes that a search on its cluster may give their parts.

    Parameters
    ----------
    source : str
        ``zoo`` or ``operators``.
    hyperparameters : mapping
        Changes to the variant of the zoo, to build its graph again.
    """
    graph = operators_of(job).graph
    shapes, left_out = infer_shapes(graph)
    sizes = split_sizes(job)
    return Subject(
        model=graph.name,
        source=source,
        servers=job.cluster.servers,
        accelerators_per_server=job.cluster.accelerators_per_server,
        batch_per_accelerator=graph.batch_per_accelerator,
        operators=distinct_operators(
            (graph.operators[index], shape, sizes[index]) for index, shape in shapes.items()
        ),
        hyperparameters=hyperparameters or {},
        left_out=left_out,
    )


def split_sizes(job: Job) -> tuple[tuple[PartSize, ...], ...]:
    """Return for every operator the sizes of all parts that a search on the job's cluster may use."""
    degrees = [k for k in range(1, job.cluster.servers + 1) if job.cluster.servers % k == 0]
    splits = candidate_splits(job, np.array(degrees, np.int64), False)

    def sizes(op: Operator, choices: NDArray[np.int64]) -> tuple[PartSize, ...]:
        made = (OperatorSplit(degrees[b], 0, degrees[c], CHANNEL_DIMS[dim]) for b, c, dim in choices)
        return tuple(sorted({_size(job, op, split) for split in made}))

    return tuple(starmap(sizes, zip(operators_of(job).graph.operators, splits, strict=True)))


def _size(job: Job, op: Operator, split: OperatorSplit) -> PartSize:
    samples = part_samples(split, job.global_batch)
    if not op.is_embedding:
        samples /= job.cluster.accelerators_per_server
    return PartSize(max(1, math.ceil(samples)), split.channel_degree, split.channel_dim)


def distinct_operators(
    rows: Iterable[tuple[Operator, Shape, Sequence[PartSize]]],
) -> tuple[SubjectOperator, ...]:
    """Return one entry for all operators of the same signature, in the order of the first of each."""
    operators: dict[OperatorSignature, SubjectOperator] = {}
    for op, shape, sizes in rows:
        signature = signature_of(op)
        before = operators.get(signature, SubjectOperator(op, shape, 0, ()))
        both = tuple(sorted({*before.sizes, *sizes}))
        operators[signature] = replace(before, count=before.count + 1, sizes=both)
    return tuple(operators.values())


def only_operators(subject: Subject, patterns: Sequence[str]) -> Subject:
    """Return the subject with some of its operators: by kind, by name, or by a pattern such as ``top_*``.

    Only the first operator of a shape has a name here.

    Raises
    ------
    InvalidInput
        If a pattern fits none.
    """
    for pattern in patterns:
        if not any(_fits(op, pattern) for op in subject.operators):
            known = {word for op in subject.operators for word in (op.operator.kind, op.operator.name)}
            if any(sign in pattern for sign in "*?["):
                raise InvalidInput(f'operators: "{pattern}" fits none of {", ".join(sorted(known))}')
            raise unknown_name("operators", pattern, known)
    chosen = [op for op in subject.operators if any(_fits(op, pattern) for pattern in patterns)]
    return replace(subject, operators=tuple(chosen), left_out={})


def _fits(op: SubjectOperator, pattern: str) -> bool:
    return any(fnmatchcase(word, pattern) for word in (op.operator.kind, op.operator.name))
