"""The second process compiles what the first will load."""

import os
import subprocess
import sys
from pathlib import Path

from topoopt.base.workers import PARTS

PLAN = """
import sys
from numba.core import event
import topoopt

class Compiled(event.Listener):
    def on_start(self, happens): pass
    def on_end(self, happens): print(happens.data["dispatcher"].py_func.__name__)

event.register("numba:compile", Compiled())
topoopt.plan("dlrm", servers=12, degree=4, bandwidth="100Gbps", budget=20, set={"tables": 4}, fabrics=("torus",))
"""


def test_what_is_compiled_ahead_a_plan_compiles_no_more(tmp_path: Path) -> None:
    """The search's kernel, and the cycles of a torus: the types that a plan gives them are those of nine servers."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    ahead = "from topoopt.search.compile_ahead import compile_ahead; compile_ahead()"
    first = [sys.executable, "-W", "error", "-c", ahead]
    done = subprocess.run(first, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == list(PARTS)
    plan = subprocess.run(
        [sys.executable, "-c", PLAN], env=environment, check=True, capture_output=True, text=True
    )
    compiled = set(plan.stdout.split())
    assert "shift_weights" in compiled  # the listener hears what is compiled
    assert not compiled & {"run_chain", "hamiltonian_cycles", "ecmp_shares"}
