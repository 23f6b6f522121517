"""The second process compiles what the first will load."""

import subprocess
import sys

from topoopt.base.workers import PARTS

PROGRAM = """
import topoopt
from topoopt.finder.rings_kernel import hamiltonian_cycles
from topoopt.routing.pair_links_kernel import ecmp_shares
from topoopt.routing.path_weights_kernel import shift_weights
from topoopt.search.compile_ahead import compile_ahead
from topoopt.search.proposals.mcmc_kernel import run_chain

compile_ahead()
ahead = run_chain, hamiltonian_cycles, ecmp_shares
types = [kernel.signatures for kernel in ahead]
assert all(types) and not shift_weights.signatures
topoopt.plan("dlrm", servers=12, degree=4, bandwidth="100Gbps", budget=20, set={"tables": 4}, fabrics=("torus",))
assert types == [kernel.signatures for kernel in ahead]
assert shift_weights.signatures, "the plan used no kernel"
"""


def test_what_is_compiled_ahead_a_plan_compiles_no_more() -> None:
    """The search's kernel, and the cycles of a torus: the types that a plan gives them are those of nine servers."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert done.stdout.split() == list(PARTS)
