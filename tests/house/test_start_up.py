"""``topoopt --help`` is quick because it imports nothing heavy."""

import json
import subprocess
import sys

import pytest

import topoopt.frontends.cli

HEAVY = ("numba", "llvmlite", "torch", "matplotlib", "ray", "scipy", "networkx", "rustworkx")
PROBE = """
import json, sys
from topoopt.frontends.cli import main
sys.argv = ["topoopt", *json.loads(sys.argv[1])]
try:
    code = main()
except SystemExit as end:
    code = end.code
assert code in (0, None), code
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


@pytest.mark.skipif(not hasattr(topoopt.frontends.cli, "main"), reason="there is no command line yet")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["plan", "--help"],
        ["topology", "--help"],
        ["simulate", "--help"],
        ["cost", "--help"],
        ["cluster", "run", "--help"],
        ["llm", "--help"],
        ["llm", "search", "--help"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    command = [sys.executable, "-c", PROBE, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & set(HEAVY)


def test_the_probe_sees_a_heavy_import() -> None:
    """The test above can fail: the same listing names numba once it is imported."""
    probe = "import sys, numba; print('numba' in {name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
