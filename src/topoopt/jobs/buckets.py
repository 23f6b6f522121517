"""How large the buckets are in which gradients are AllReduced: as asked for, or chosen for the job."""

from typing import Annotated, Final

from pydantic import BeforeValidator

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.units import format_bytes, parse_bytes
from topoopt.schema.files import quantity

AUTO_BUCKET: Final = -1
"""A plan chooses the size; whatever is not planned has :data:`DDP_BUCKET_BYTES`."""

NO_BUCKETS: Final = 0
"""An AllReduce for every weight tensor, as the papers and the authors' code have it."""

DDP_BUCKET_BYTES: Final = 25 * 1024 * 1024
"""The default of PyTorch's DistributedDataParallel, ``bucket_cap_mb=25``."""

BUCKET_SIZES: Final = (NO_BUCKETS, 1024 * 1024, 5 * 1024 * 1024, DDP_BUCKET_BYTES, 100 * 1024 * 1024)
"""What a plan tries. 100 MiB is what is proposed in place of DDP's default for large models (PyTorch issue 118421)."""

NAMES: Final = {"auto": AUTO_BUCKET, "none": NO_BUCKETS}


def parse_bucket(value: str | float, place: str) -> int:
    """Return bytes of a bucket: of ``auto``, ``none``, text with a unit, or a number.

    Raises
    ------
    InvalidInput
        If it is none of them, or below 0.

    Examples
    --------
    >>> parse_bucket("25 MiB", "bucket"), parse_bucket("none", "bucket")
    (26214400, 0)
    """
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]
    try:
        size_bytes = round(parse_bytes(value, place) if isinstance(value, str) else value)
    except InvalidInput:
        size_bytes = -1
    if size_bytes < 0:
        raise InvalidInput(f"{place}: expected auto, none or a size such as 25 MiB, got {shown(value)}")
    return size_bytes


BucketText = Annotated[int, BeforeValidator(quantity(parse_bucket))]
"""A field of a file that is written ``auto``, ``none`` or ``25 MiB`` and read as bytes."""


def bucket_text(size_bytes: int) -> str:
    """Return a size as one writes it: ``auto``, ``none``, ``25 MiB``.

    Examples
    --------
    >>> bucket_text(DDP_BUCKET_BYTES), bucket_text(0), bucket_text(25_000_000)
    ('25 MiB', 'none', '25 MB')
    """
    name = {size: name for name, size in NAMES.items()}.get(size_bytes)
    mebibytes, rest = divmod(size_bytes, 1024 * 1024)
    return name or (f"{mebibytes} MiB" if not rest else format_bytes(size_bytes))
