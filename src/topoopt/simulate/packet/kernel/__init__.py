"""The packet engine, compiled: ``advance`` serves events on the arrays of ``layout.py``.

The code of the engine is several files, and Numba's cache on disk looks at one only. So the compiled loop carries a
stamp of all of them.
"""

import zlib
from pathlib import Path

from topoopt.simulate.packet.kernel.loop import make_advance


def _stamp() -> int:
    """Return a number, never 0, that changes with any file of the engine."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(path.read_bytes() for path in sources)) | 1


advance = make_advance(_stamp())
