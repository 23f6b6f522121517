"""What the comparisons with other people's programs share."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.scenarios import HEADER_BYTES, SCENARIOS, Figures, Scenario

collect_ignore = [
    "simgrid_flows.py",
    "ns3_scenarios.py",
]  # they run under another Python, in processes of their own


@pytest.fixture(scope="session")
def ns3_figures() -> dict[str, Figures]:
    """Return what ns-3 sees of every scenario: about 25 seconds, once."""
    if importlib.util.find_spec("ns") is None:
        pytest.skip("there is no ns-3 here: pip install 'topoopt[oracles]'")
    text = json.dumps({name: written_out(scenario) for name, scenario in SCENARIOS.items()})
    script = Path(__file__).with_name("ns3_scenarios.py")
    done = subprocess.run([sys.executable, script], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return {name: Figures(**figures) for name, figures in found.items()}


def written_out(scenario: Scenario) -> dict[str, object]:
    latency = {"bottleneck_s": scenario.bottleneck_s, "access_s": scenario.access_s}
    return {**asdict(scenario), **latency, "header_bytes": HEADER_BYTES}
