"""A model of operators as what is to be measured: every split that a search may choose."""

import math
from collections.abc import Mapping

import numpy as np

from topoopt.job import Job, operators_of
from topoopt.profile.inference import infer_shapes
from topoopt.profile.subject import Subject, distinct_operators
from topoopt.search import CHANNEL_DIMS, candidate_splits
from topoopt.strategy import OperatorSplit, part_samples
from topoopt.workload import Operator, PartSize


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
    shapes, left_out = infer_shapes(operators_of(job).graph)
    sizes = split_sizes(job)
    rows = [
        (operators_of(job).graph.operators[index], shape, sizes[index]) for index, shape in shapes.items()
    ]
    return Subject(
        model=operators_of(job).graph.name,
        source=source,
        servers=job.cluster.servers,
        accelerators_per_server=job.cluster.accelerators_per_server,
        batch_per_accelerator=operators_of(job).graph.batch_per_accelerator,
        operators=distinct_operators(rows),
        hyperparameters=hyperparameters or {},
        left_out=left_out,
    )


def split_sizes(job: Job) -> tuple[tuple[PartSize, ...], ...]:
    """Return for every operator the sizes of all parts that a search on the job's cluster may make."""
    servers = job.cluster.servers
    divisors = np.array([k for k in range(1, servers + 1) if servers % k == 0], np.int64)
    return tuple(
        tuple(
            sorted(
                {
                    _size(job, op, OperatorSplit(int(divisors[b]), 0, int(divisors[c]), CHANNEL_DIMS[dim]))
                    for b, c, dim in choices
                }
            )
        )
        for op, choices in zip(
            operators_of(job).graph.operators, candidate_splits(job, divisors, False), strict=True
        )
    )


def _size(job: Job, op: Operator, split: OperatorSplit) -> PartSize:
    samples = part_samples(split, job.global_batch)
    if not op.is_embedding:
        samples /= job.cluster.accelerators_per_server
    return PartSize(max(1, math.ceil(samples)), split.channel_degree, split.channel_dim)
