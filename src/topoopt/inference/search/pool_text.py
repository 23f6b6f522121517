"""A pool as people write it: ``4xtp8``, ``2xep16dp16``, or ``tp8`` for as many replicas as suit."""

import re

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import whole
from topoopt.inference.deployment import Parallelism

_POOL = re.compile(r"(?:(\d{1,7})x)?((?:(?:tp|pp|ep|dp)\d{1,7})*)")
_DEGREE = re.compile(r"(tp|pp|ep|dp)(\d+)")
_NAMES = {"tp": "tensor", "pp": "pipeline", "ep": "expert", "dp": "attention_data"}


def parse_pool(text: str, word: str) -> tuple[int | None, Parallelism]:
    """Return how many replicas, None where that is not said, and how each is split; degrees that are not said are 1.

    Raises
    ------
    InvalidInput
        With what is allowed.

    Examples
    --------
    >>> parse_pool("2xtp8pp2", "decode")
    (2, Parallelism(tensor=8, pipeline=2, expert=1, attention_data=1))
    >>> parse_pool("tp4", "decode")[0] is None
    True
    """
    found = _POOL.fullmatch(text.strip().lower().replace(" ", ""))
    if found is None or not found[0]:
        raise InvalidInput(
            f"{word}: expected how a replica is split, and how many there are if that is known, such as tp8, 4xtp8 or "
            f"2xep16dp16, got {shown(text)}"
        )
    degrees = _DEGREE.findall(found[2])
    names = [name for name, _ in degrees]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{word}: each of tp, pp, ep and dp stands once at most, got {shown(text)}")
    split = Parallelism(
        **{_NAMES[name]: whole(f"{word}: {name}", int(number), 1, 1_000_000) for name, number in degrees}
    )
    replicas = None if found[1] is None else whole(f"{word}: replicas", int(found[1]), 1, 1_000_000)
    return replicas, split
