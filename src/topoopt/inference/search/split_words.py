"""How a replica is split, in short."""

from topoopt.inference.deployment import Parallelism


def split_words(one: Parallelism) -> str:
    """Return degrees in short, such as ``TP4 PP2`` or ``DP8 EP8``.

    Examples
    --------
    >>> split_words(Parallelism(4, 2)), split_words(Parallelism(1, 1, 8, 8)), split_words(Parallelism())
    ('TP4 PP2', 'EP8 DP8', 'TP1')
    """
    degrees = {"TP": one.tensor, "PP": one.pipeline, "EP": one.expert, "DP": one.attention_data}
    return " ".join(f"{name}{degree}" for name, degree in degrees.items() if degree > 1) or "TP1"
