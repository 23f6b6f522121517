"""The packet engine, compiled: ``advance`` serves events on the arrays of ``layout.py``.

The code of the engine is several files, and Numba's cache on disk looks at one only. So the compiled loop carries a
stamp of all of them.
"""

from pathlib import Path

from topoopt.kernel import stamp
from topoopt.simulate.packet.kernel.loop import make_advance

advance = make_advance(stamp(Path(__file__).parent.glob("*.py")))
