"""The formats of forwarding: addresses, routes, and what servers' systems, switches and cards are told."""

from topoopt.plugins.exports.addressing_plan import addressing_plan
from topoopt.plugins.exports.format import ExportFormat
from topoopt.plugins.exports.frr import frr
from topoopt.plugins.exports.iproute2 import iproute2
from topoopt.plugins.exports.netplan import netplan
from topoopt.plugins.exports.pair_routes import pair_routes
from topoopt.plugins.exports.rdma_rules import rdma_rules
from topoopt.plugins.exports.sonic_routes import sonic_routes

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
