"""The formats of training: collectives, the order of ranks, schedulers, and what simulators replay."""

from topoopt.plugins.exports.astra_sim import astra_sim
from topoopt.plugins.exports.chakra import chakra
from topoopt.plugins.exports.containerlab import containerlab
from topoopt.plugins.exports.format import ExportFormat
from topoopt.plugins.exports.kubernetes import kubernetes
from topoopt.plugins.exports.msccl import msccl
from topoopt.plugins.exports.nccl import nccl
from topoopt.plugins.exports.ns3_topology import astra_sim_ns3
from topoopt.plugins.exports.rank_order import rank_order
from topoopt.plugins.exports.simai import simai
from topoopt.plugins.exports.slurm import slurm

TRAINING_FORMATS = (
    ExportFormat(
        "msccl",
        "collectives of replicas along the rings of the plan, a channel for each ring",
        "allreduce.xml, reduce-scatter.xml, …, groups.json",
        "MSCCL and RCCL, one rank a server",
        msccl,
    ),
    ExportFormat(
        "nccl",
        "a server's NICs, a channel of NCCL for each ring, and the environment",
        "topology.xml, graph.xml, nccl.env, tuner.csv, README.txt",
        "NCCL",
        nccl,
    ),
    ExportFormat(
        "ranks",
        "which rank runs where: the order of servers on rings",
        "rankfile, hostfile, torchrun.tsv, slurm-hosts",
        "mpirun, torchrun, srun",
        rank_order,
    ),
    ExportFormat(
        "slurm",
        "the servers of the plan as a block of Slurm's topology",
        "topology.conf, topology-tree.conf, topology.yaml",
        "Slurm",
        slurm,
    ),
    ExportFormat(
        "kubernetes",
        "labels of nodes and a topology for Kueue",
        "label-nodes.sh, kueue.yaml",
        "Kubernetes with Kueue",
        kubernetes,
    ),
    ExportFormat(
        "containerlab",
        "the wiring and the routes as a lab of containers",
        "topoopt.clab.yml, routes/SERVER.sh, .batch",
        "containerlab",
        containerlab,
    ),
    ExportFormat(
        "chakra",
        "execution traces: what each server computes and sends in an iteration",
        "plan.RANK.et, comm_group.json",
        "topoopt simulate, ASTRA-sim and other readers of Chakra",
        chakra,
    ),
    ExportFormat(
        "astra-sim",
        "system and network of ASTRA-sim's analytical network, for rings and networks of all pairs",
        "network.yml, system.json, remote_memory.json, run.sh",
        "ASTRA-sim",
        astra_sim,
    ),
    ExportFormat(
        "astra-sim-ns3",
        "the wiring for ASTRA-sim's ns-3, where routes are the shortest",
        "topology.txt, logical_topology.json, system.json, README.txt",
        "ASTRA-sim with ns-3",
        astra_sim_ns3,
    ),
    ExportFormat(
        "simai",
        "the wiring and the workload of a data-parallel job",
        "topology.txt, workload.txt",
        "SimAI",
        simai,
    ),
)
"""In the order of use."""
