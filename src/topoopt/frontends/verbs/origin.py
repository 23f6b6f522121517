"""Where a job comes from, in words: a variant of the zoo and what was changed of it, or files."""

from topoopt.jobs import Job, JobRequest, TrafficWork, program_words
from topoopt.search import is_transformer
from topoopt.workloads import MODELS, resolve_variant
from topoopt.workloads.transformer import left_out_of_config

Origin = tuple[tuple[str, str], ...]


def origin_of(request: JobRequest, job: Job) -> Origin:
    """Return where the model and its times come from, as facts."""
    if is_transformer(request):
        if not request.config:
            return ()
        others = left_out_of_config(request.config)
        beside = f": its language model alone; left out: {others}" if others else ""
        return (("model", f"from {request.config}{beside}"),)
    if isinstance(job.work, TrafficWork) and request.traffic:
        return (("traffic", f"from {request.traffic}: {job.work.origin}"),)
    if request.described is not None:
        return (("model", "described in Python"),)
    profile = ("profile", request.profile)
    file = request.operators or request.program or (not request.model and request.profile)
    if file:
        read = ("model", f"from {file}")
        counted = (("counted", program_words(request)),) if request.program else ()
        return (read, *counted, profile) if request.operators or request.program else (read,)
    name, variant = resolve_variant(job.name)
    changes = dict(request.hyperparameters)
    if request.batch_per_accelerator:
        changes["batch_per_accelerator"] = request.batch_per_accelerator
    changed = ", ".join(f"{key}={value}" for key, value in changes.items())
    title = f"{MODELS[name].title}, {variant.name}: {variant.description}"
    return ("model", title), ("changed", changed), profile
