"""A pool as people write it: ``4xtp8``, ``2xep16dp16``."""

import re

from topoopt.errors import InvalidInput, shown
from topoopt.limits import whole
from topoopt.serving.deployment import Parallelism, Pool

_POOL = re.compile(r"(\d{1,7})x((?:(?:tp|pp|ep|dp)\d{1,7})*)")
_DEGREE = re.compile(r"(tp|pp|ep|dp)(\d+)")
_NAMES = {"tp": "tensor", "pp": "pipeline", "ep": "expert", "dp": "attention_data"}


def parse_pool(text: str, word: str, batch_a_copy: int = 256) -> Pool:
    """Return a pool: so many replicas, each split in so many ways; what is not said is 1.

    Raises
    ------
    InvalidInput
        With what is allowed.

    Examples
    --------
    >>> pool = parse_pool("2xtp8pp2", "decode")
    >>> pool.replicas, pool.parallelism.tensor, pool.accelerators
    (2, 8, 32)
    """
    found = _POOL.fullmatch(text.strip().lower().replace(" ", ""))
    if found is None:
        raise InvalidInput(
            f"{word}: expected replicas and how each is split, such as 4xtp8 or 2xep16dp16, got {shown(text)}"
        )
    degrees = _DEGREE.findall(found[2])
    names = [name for name, _ in degrees]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{word}: each of tp, pp, ep and dp stands once at most, got {shown(text)}")
    split = Parallelism(
        **{_NAMES[name]: whole(f"{word}: {name}", int(number), 1, 1_000_000) for name, number in degrees}
    )
    replicas = whole(f"{word}: replicas", int(found[1]), 1, 1_000_000)
    return Pool(split, replicas, batch_a_copy * split.attention_data)
