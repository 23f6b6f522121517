"""ASTRA-sim's files of system and network beside Chakra's traces, where its analytical network can say the wiring.

That network knows rings in the order of ranks, networks of all pairs, and switches, which no plan of fixed links has.

References
----------
.. [1] github.com/astra-sim/astra-network-analytical: ``topology``, ``npus_count``, ``bandwidth`` (said as GB/s,
   computed with 2^30 bytes), ``latency`` (ns); with contention it takes one dimension.
.. [2] github.com/astra-sim/astra-sim, ``examples/system``, ``examples/run_scripts``: keys and flags.
"""

import json

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.plugins.exports.chakra import PREFIX
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.topologies import Topology

_GIB = 2**30
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")

RUN = f"""\
#!/bin/sh
# ASTRA_SIM: the binary of its analytical network with contention; TRACES: the files of format chakra
"${{ASTRA_SIM:-AstraSim_Analytical_Congestion_Aware}}" \\
  --workload-configuration="${{TRACES:-../chakra}}/{PREFIX}" \\
  --comm-group-configuration="${{TRACES:-../chakra}}/comm_group.json" \\
  --system-configuration=system.json \\
  --network-configuration=network.yml \\
  --remote-memory-configuration=remote_memory.json
"""


def astra_sim(deployment: Deployment) -> Contents:
    """Return what ASTRA-sim reads beside the traces, and the command.

    Raises
    ------
    Infeasible
        If the wiring is neither a ring in the order of ranks, nor joins all pairs, with links that are alike.
    """
    topology = deployment.plan.fabric.topology
    shape = _shape(topology)
    files = {
        "network.yml": _network(topology, shape),
        "system.json": json.dumps(system("ring" if shape == "Ring" else "direct"), indent=1) + "\n",
        "remote_memory.json": json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}) + "\n",
        "run.sh": RUN,
    }
    return files


def system(algorithm: str) -> dict[str, object]:
    """Return the system layer: one chunk at a time, and collectives by one algorithm, as the plan was simulated."""
    ways = {f"{name}-implementation": [algorithm] for name in _COLLECTIVES}
    return {
        "scheduling-policy": "FIFO",
        "endpoint-delay": 0,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": 1,
        **ways,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1600,
        "boost-mode": 0,
        "roofline-enabled": 0,
    }


def _shape(topology: Topology) -> str:
    """Return the kind of network that a wiring is."""
    n = topology.servers
    alike = np.ptp(topology.bandwidth_bps) == 0 and np.ptp(topology.latency_s) == 0
    step = (topology.dst - topology.src) % n
    if alike and len(topology) == n * (n - 1):
        return "FullyConnected"
    if alike and len(topology) == 2 * n and set(step.tolist()) == {1, n - 1}:
        return "Ring"
    raise Infeasible(
        "ASTRA-sim's analytical network knows rings in the order of ranks, networks of all pairs and switches; this "
        f"wiring of {n} servers and {len(topology)} links is none; see format astra-sim-ns3"
    )


def _network(topology: Topology, shape: str) -> str:
    gib, latency_ns = topology.bandwidth_bps[0] / 8 / _GIB, topology.latency_s[0] * 1e9
    return (
        f"topology: [ {shape} ]\nnpus_count: [ {topology.servers} ]\n"
        f"bandwidth: [ {gib:.9g} ]  # 2^30 bytes a second\nlatency: [ {latency_ns:.9g} ]  # ns\n"
    )
