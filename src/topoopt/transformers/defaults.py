"""Defaults of every verb for a transformer: replicas, batch, precision, sharding, recomputation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.catalog import DEFAULT_ACCELERATOR, find_accelerator, host_bytes_per_s
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_check import check_configuration
from topoopt.transformers.memory.frameworks import find_framework
from topoopt.transformers.step_time.calibration import peak_rates
from topoopt.workloads.transformer import TransformerModel

TOKENS = 2**22
"""Tokens of an iteration without a given batch; Llama 3 was trained with 4 to 16 million."""

DEGREES = ("tp", "pp", "cp", "ep", "etp", "vpp", "micro_batch")


def usual_configuration(
    model: TransformerModel,
    settings: Mapping[str, Any],
    accelerators: int | None = None,
    accelerator: str = DEFAULT_ACCELERATOR,
    uneven_stages: bool = False,
) -> Configuration:
    """Return the configuration of the given fields, checked against the model and the number of accelerators.

    Without ``dp`` the replicas are the accelerators over the other degrees; without ``accelerators`` their number
    is the product of the degrees. Batch and precision have defaults; the latter depends on the ``accelerator``.
    ZeRO 1 and, with tensor parallelism, sequence parallelism are on unless given, as in Megatron's recipes.

    Parameters
    ----------
    settings : mapping
        Fields of :class:`~topoopt.transformers.Configuration`; the sequence is the model's.

    Raises
    ------
    InvalidInput
        With the nearest valid values, see :func:`~topoopt.transformers.check_configuration`.
    """
    degrees = {name: whole(name, settings.get(name, 1), 1) for name in DEGREES}
    if accelerators is not None:
        whole("accelerators", accelerators, 1)
    inside = degrees["tp"] * degrees["pp"] * degrees["cp"]
    if "dp" in settings:
        dp = whole("dp", settings["dp"], 1)
    elif accelerators is None:
        raise InvalidInput("accelerators: missing; give accelerators or dp")
    else:
        dp = max(accelerators // inside, 1)
    rounds = degrees["pp"] if degrees["vpp"] > 1 else 1  # interleaving needs multiples of the stages
    step = dp * degrees["micro_batch"] * rounds
    batch = settings.get("global_batch")
    configuration = Configuration(
        **{
            "zero": 1,
            "sequence_parallel": degrees["tp"] > 1 and model.sequence % (degrees["tp"] * degrees["cp"]) == 0,
            **settings,
            **degrees,
            "dp": dp,
            "global_batch": usual_batch(model.sequence, inside * dp, step)
            if batch is None
            else whole("global_batch", batch, 1),
            "sequence": model.sequence,
            "precision": settings.get("precision") or usual_precision(accelerator),
        }
    )
    check_configuration(model, configuration, accelerators or configuration.accelerators, uneven_stages)
    return configuration


def usual_batch(sequence: int, accelerators: int, step: int = 1) -> int:
    """Return the sequences of an iteration that has about :data:`TOKENS` tokens, at least one an accelerator.

    Parameters
    ----------
    step
        Factor that the batch must be a multiple of, because of a configuration.

    Examples
    --------
    >>> usual_batch(8192, 512), usual_batch(2048, 48), usual_batch(2048, 48, step=36)
    (512, 2064, 2052)
    """
    batch = accelerators * max(1, round(TOKENS / sequence / accelerators))
    return batch if batch % step == 0 else step * max(1, round(batch / step))


def usual_precision(accelerator: str) -> str:
    """Return bf16, or fp16 where an accelerator does not have that.

    Examples
    --------
    >>> usual_precision("h100"), usual_precision("v100")
    ('bf16', 'fp16')
    """
    return "bf16" if "bf16" in peak_rates(accelerator) else "fp16"


def recomputed_parts(model: TransformerModel, framework: str) -> list[str]:
    """Return the parts that can be recomputed separately, the smallest first, and ``full``.

    Norms and activations only where no handwritten kernel joins them to products: Transformer Engine joins norms to the
    products behind them in layers that have neither experts nor latent attention.
    """
    parts = ["selective"]
    if model.latent is not None:
        parts += ["norms+latent", "norms+latent+activation"]
    if model.experts is not None or find_framework(framework).compiled:
        parts += ["norms", "norms+activation"]
    if model.experts is not None:
        parts += ["experts", "experts+norms"]
    return [*parts, "full"]


def recomputations(
    model: TransformerModel, one: Configuration, accelerator: str, framework: str
) -> list[Configuration]:
    """Return a configuration with each recomputation, the least first, and with offloaded activations if it can be."""
    ways = [replace(one, recompute=word) for word in ("none", *recomputed_parts(model, framework))]
    known = host_bytes_per_s(find_accelerator(accelerator)) is not None
    if known and "activations" in find_framework(framework).offloads and not one.offload_activations:
        ways.append(replace(ways[-1], offload_activations=1.0))
    return ways
