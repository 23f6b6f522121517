"""A model of operators as what is to be measured: every split that a search may choose."""

import math
from collections.abc import Mapping
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from topoopt.jobs import Job, operators_of
from topoopt.plugins.profiling.inference import infer_shapes
from topoopt.plugins.profiling.subject import Subject, distinct_operators
from topoopt.search import CHANNEL_DIMS, candidate_splits
from topoopt.workloads import Operator, PartSize
from topoopt.workloads.strategy import OperatorSplit, part_samples


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
    """Return for every operator the sizes of all parts that a search on the job's cluster may make."""
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
