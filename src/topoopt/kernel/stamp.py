"""What tells versions of a kernel of several files apart: Numba's cache on disk looks at one of them only."""

import zlib
from collections.abc import Iterable
from pathlib import Path


def stamp(files: Iterable[Path]) -> int:
    """Return a number, never 0, that changes with any of the files and with this room.

    A kernel has it as the default of a last argument that nobody gives, or closes over it: either is part of what its
    cache is keyed by.
    """
    paths = sorted({*files, *Path(__file__).parent.glob("*.py")})
    return zlib.crc32(b"".join(path.read_bytes() for path in paths)) | 1
