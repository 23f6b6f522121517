"""How much of an accelerator's memory should stay free."""

TIGHT = 0.95
"""Of the memory: what needs more may not run, since estimates of memory are good to some GiB."""


def is_tight(needed_bytes: float, capacity_bytes: float) -> bool:
    """Return whether something fits, but leaves next to nothing free.

    Examples
    --------
    >>> is_tight(79e9, 80e9), is_tight(70e9, 80e9), is_tight(81e9, 80e9)
    (True, False, False)
    """
    return TIGHT * capacity_bytes < needed_bytes <= capacity_bytes
