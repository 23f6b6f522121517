"""The table of export formats: a new one is a function in a file of this folder and a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.plugins.exports.cabling import labels, patch_list
from topoopt.plugins.exports.deployment import ExportFormat
from topoopt.plugins.exports.documentation import addressing_plan, inventory_file, netbox
from topoopt.plugins.exports.graph import dot, graphml, node_link
from topoopt.plugins.exports.job_schedulers import kubernetes, rank_order, slurm
from topoopt.plugins.exports.nccl import msccl, nccl, rdma_rules
from topoopt.plugins.exports.optical_switches import calient, polatis, sonic_ocs
from topoopt.plugins.exports.simulators import astra_sim, astra_sim_ns3, chakra, simai
from topoopt.plugins.exports.static_routes import (
    containerlab,
    frr,
    iproute2,
    netplan,
    pair_routes,
    sonic_routes,
)

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
"""Formats in the order of use."""
GRAPH_FORMATS = (
    ExportFormat(
        "graphml",
        "the wiring as a multigraph: names, ports, panels, cables, bandwidth",
        "wiring.graphml",
        "topoopt, networkx, yEd, Gephi, igraph",
        graphml,
    ),
    ExportFormat(
        "node-link", "the same as node-link JSON", "wiring.json", "topoopt, networkx, D3", node_link
    ),
    ExportFormat("dot", "the same as DOT, to be drawn", "wiring.dot", "topoopt, Graphviz", dot),
)
FORWARDING_FORMATS = (
    ExportFormat(
        "addresses",
        "the addresses of servers and of both ends of every cable, and how forwarding goes",
        "addresses.csv, addresses.json",
        "people and scripts",
        addressing_plan,
    ),
    ExportFormat(
        "routes",
        "every path of every pair, with its weight, whatever rule made it",
        "routes.csv",
        "people and scripts",
        pair_routes,
    ),
    ExportFormat(
        "iproute2",
        "addresses, routes and rules of every server, as a script",
        "SERVER.sh, SERVER.batch",
        "sh and ip -batch on any Linux",
        iproute2,
    ),
    ExportFormat(
        "frr",
        "static routes of every server, and the rules beside them",
        "SERVER/frr.conf, ip.batch, sysctl.conf",
        "FRRouting, ip -batch, sysctl",
        frr,
    ),
    ExportFormat(
        "netplan",
        "addresses, routes and rules of every server, where each has one next hop",
        "SERVER/60-topoopt.yaml, 60-topoopt.conf",
        "netplan, sysctl",
        netplan,
    ),
    ExportFormat(
        "sonic-routes",
        "static routes by destination, for servers or switches that run SONiC",
        "SERVER/config_db.json, ports.csv",
        "SONiC (config load)",
        sonic_routes,
    ),
    ExportFormat(
        "rdma",
        "forwarding of RDMA by tc rules between functions of network cards, each with one next hop",
        "SERVER/rdma.sh, ip.batch, tc.batch",
        "sh, ip -batch and tc -batch",
        rdma_rules,
    ),
)
"""Rows of the table of formats."""
CABLING_FORMATS = (
    ExportFormat(
        "inventory",
        "which server, interface, panel, port and cable is which, to be edited and given back",
        "inventory.yaml",
        "topoopt, and people",
        inventory_file,
    ),
    ExportFormat(
        "patch-list",
        "which panel ports are joined, and in which order to change them",
        "patch-list.csv, work-order.txt, wiring.json",
        "people, scripts and robots at any patch panel",
        patch_list,
    ),
    ExportFormat(
        "labels",
        "labels for both ends of every cable",
        "labels.csv, labels-a4.pdf, labels-letter.pdf",
        "label printers; sheets of 65 and 80 labels",
        labels,
    ),
    ExportFormat(
        "netbox",
        "devices, ports and cables for the records of a data center",
        "01-sites.csv ... 10-cables.csv",
        "NetBox: bulk import",
        netbox,
    ),
    ExportFormat(
        "sonic-ocs",
        "cross-connects of optical switches that run SONiC",
        "PANEL.config_db.json, PANEL-stepN.patch.json",
        "SONiC: config reload, config apply-patch",
        sonic_ocs,
    ),
    ExportFormat(
        "polatis",
        "cross-connects of Polatis optical switches",
        "PANEL.restconf.json, PANEL.scpi, PANEL.tl1",
        "Polatis: RESTCONF, SCPI or TL1",
        polatis,
    ),
    ExportFormat(
        "calient",
        "cross-connects of Calient optical switches",
        "PANEL-stepN-delete.json, PANEL-stepN-add.json",
        "Calient: REST",
        calient,
    ),
)
_ROWS = (*CABLING_FORMATS, *GRAPH_FORMATS, *FORWARDING_FORMATS, *TRAINING_FORMATS)
FORMATS: Mapping[str, ExportFormat] = MappingProxyType({row.name: row for row in _ROWS})
"""Every format by name, in the order of deploying a plan: fibers, graphs, servers, collectives, schedulers."""
