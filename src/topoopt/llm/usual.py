"""What is taken where nothing is said, alike in every verb: the batch of an iteration, and the precision."""

from topoopt.llm.calibration.relatives import peak_rates

TOKENS = 2**22
"""Of an iteration where no batch is asked for; Llama 3 was trained with 4 to 16 million."""


def usual_batch(sequence: int, accelerators: int, step: int = 1) -> int:
    """Return the sequences of an iteration that has about :data:`TOKENS` tokens, at least one an accelerator.

    Parameters
    ----------
    step
        What the batch has to be a multiple of, because of a configuration.

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
