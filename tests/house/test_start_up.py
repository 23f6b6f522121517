"""``topoopt --help`` is quick because it imports nothing heavy."""

import json
import subprocess
import sys

HEAVY = ("numba", "llvmlite", "torch", "matplotlib", "ray", "scipy", "networkx", "rustworkx")
PROBE = """
import json, sys
from topoopt.frontends.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["topoopt", *words.split()]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    assert code in (0, None), (words, code)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


COMMANDS = ("", "plan", "topology", "simulate", "cost", "cluster run", "llm", "llm search")


def test_help_imports_nothing_heavy() -> None:
    """All in one process: what none of them has imported none of them imports."""
    commands = [f"{command} --help" for command in COMMANDS]
    probe = [sys.executable, "-c", PROBE, json.dumps(commands)]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & set(HEAVY)


def test_the_probe_sees_a_heavy_import() -> None:
    """The test above can fail: the same listing names numba once it is imported."""
    probe = "import sys, numba; print('numba' in {name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
