"""What launchers, schedulers and NCCL are told: every format against what its reader demands."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

import topoopt
from topoopt.base.errors import Infeasible
from topoopt.collectives import run_msccl
from topoopt.plans.inventory import Interface
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.plugins.exports.job_schedulers import hostlist
from topoopt.search import task_graph_of
from topoopt.simulation import COLLECTIVES

Files = dict[str, Any]


@pytest.fixture(scope="module")
def written(plan: topoopt.Plan) -> Callable[[str], Files]:
    deployed = deployment(plan)
    return lambda name: dict(FORMATS[name].write(deployed))


@pytest.fixture(scope="module")
def expert_plan() -> topoopt.Plan:
    """Groups of replicas that are not all servers."""
    return topoopt.plan("mixtral-8x7b", servers=16, degree=4, fabrics=(), candidates=2)


def renamed(given: Deployment, **changes: Any) -> Deployment:
    """Return a deployment whose second server is called otherwise."""
    servers = list(given.inventory.servers)
    servers[1] = replace(servers[1], **changes)
    cables = tuple(
        replace(cable, server=servers[1].name) if cable.server == given.inventory.servers[1].name else cable
        for cable in given.inventory.cables
    )
    return replace(given, inventory=replace(given.inventory, servers=tuple(servers), cables=cables))


# MSCCL


def test_the_rings_of_a_plan_are_an_allreduce_a_channel_for_each(plan: topoopt.Plan, written: Any) -> None:
    files = written("msccl")
    assert set(files) >= {"allreduce.xml", "groups.json"}
    ran = run_msccl(files["allreduce.xml"])
    ((members, rings),) = plan.fabric.rings.items()
    assert (ran.missing, ran.channels, ran.thread_blocks) == (0, len(rings), len(rings))
    (group,) = json.loads(files["groups.json"])["groups"]
    assert group["servers"] == [f"srv{server:03}" for server in members]
    root = ElementTree.fromstring(files["allreduce.xml"])
    for gpu in root:
        rank = int(gpu.attrib["id"])
        for block, ring in zip(gpu, rings, strict=True):
            place = ring.members.index(rank)
            assert int(block.attrib["send"]) == ring.members[(place + 1) % len(members)]
            assert int(block.attrib["recv"]) == ring.members[place - 1]


def test_every_group_of_replicas_has_files_of_what_it_does(expert_plan: topoopt.Plan) -> None:
    files = FORMATS["msccl"].write(deployment(expert_plan))
    graph = task_graph_of(expert_plan.job, expert_plan.strategy)
    groups = json.loads(files["groups.json"])["groups"]
    assert len(groups) == len(expert_plan.fabric.rings) > 1
    for group, members in zip(groups, expert_plan.fabric.rings, strict=True):
        tasks = [task for task in graph.collectives if tuple(sorted(graph.members(task))) == members]
        kinds = {COLLECTIVES[graph.collective[task]] for task in tasks}
        assert (
            set(group["files"]) == kinds == {"reduce-scatter", "all-gather"}
        )  # the optimizer's state is split
        for kind, name in group["files"].items():
            root = ElementTree.fromstring(str(files[name]))
            assert (root.attrib["coll"], root.attrib["ngpus"]) == (
                {"reduce-scatter": "reduce_scatter", "all-gather": "allgather"}[kind],
                str(len(members)),
            )
            assert run_msccl(str(files[name])).missing == 0


def test_topoopt_verifies_the_schedules_that_it_exports(expert_plan: topoopt.Plan, tmp_path: Path) -> None:
    topoopt.export(expert_plan, format="msccl", out=tmp_path)
    written = sorted(tmp_path.glob("*.xml"))
    assert written
    for path in written:
        answer = topoopt.verify(path)
        assert (answer.kind, answer.passed) == ("schedule", True)
        assert (answer.servers, str(path.name).startswith(answer.checks[0].looked_at.split(":")[0])) == (
            int(ElementTree.parse(path).getroot().attrib["ngpus"]),
            True,
        )
    text = written[0].read_text().replace('coll="allgather"', 'coll="allreduce"')
    written[0].write_text(text.replace(' hasdep="1"', ' hasdep="0"').replace('type="s"', 'type="nop"', 1))
    assert not topoopt.verify(written[0]).passed
    with pytest.raises(topoopt.InvalidInput, match=r"degree: .*is a schedule"):
        topoopt.verify(written[0], degree=4)


def test_a_broadcast_has_a_file_where_the_plan_takes_it(plan: topoopt.Plan) -> None:
    for algorithms in ({}, {"bfb": 3}):
        outcome = replace(plan.outcome, algorithms=algorithms)
        files = FORMATS["msccl"].write(replace(deployment(plan), plan=replace(plan, outcome=outcome)))
        assert ("allreduce-bfb.xml" in files) == bool(algorithms)
    ran = run_msccl(str(files["allreduce-bfb.xml"]))
    assert ran.missing == 0
    assert ran.steps < 2 * 15  # of 16 servers on rings
    linked = plan.fabric.topology
    for gpu in ElementTree.fromstring(str(files["allreduce-bfb.xml"])):
        for block in gpu:
            peer = int(block.attrib["send"])
            assert peer < 0 or linked.link_id(int(gpu.attrib["id"]), peer) >= 0  # no hop but its own links


def test_a_plan_without_an_allreduce_has_no_rings(plan: topoopt.Plan) -> None:
    alone = replace(deployment(plan), plan=replace(plan, fabric=replace(plan.fabric, rings={})))
    for name in ("msccl", "nccl"):
        with pytest.raises(Infeasible, match="the plan has no AllReduce between servers"):
            FORMATS[name].write(alone)


# NCCL: what topo.cc, xml.cc and search.cc demand

NEEDED = {
    "system": {"version"},
    "cpu": {"numaid", "arch", "vendor"},
    "pci": {"busid", "class", "link_speed", "link_width"},
    "gpu": {"dev", "sm", "rank", "gdr"},
    "nic": set(),
    "net": {"dev"},
}
GRAPH = {
    *("id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter", "typeintra", "typeinter"),
    "samechannels",
}
TYPES = ("LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")


def test_nccl_reads_the_server(plan: topoopt.Plan, written: Any) -> None:
    root = ElementTree.fromstring(written("nccl")["topology.xml"])
    assert (root.tag, root.attrib["version"]) == ("system", "1")
    for element in root.iter():
        assert set(element.attrib) >= NEEDED[element.tag]
        assert len(element) <= 640
        assert len(element.attrib) <= 16
        assert all(len(value) <= 255 for value in element.attrib.values())
    assert len({pci.attrib["busid"] for pci in root.iter("pci")}) == len(list(root.iter("pci")))
    nets = list(root.iter("net"))
    assert [net.attrib["name"] for net in nets] == ["ens1f0", "ens1f1", "ens2f0", "ens2f1"]
    assert {int(net.attrib["speed"]) for net in nets} == {100_000}  # Mbit/s
    assert len(list(root.iter("gpu"))) == plan.job.cluster.accelerators_per_server
    assert {gpu.attrib["sm"] for gpu in root.iter("gpu")} == {"80"}  # an A100


def test_nccl_has_a_channel_for_each_ring_on_a_nic_of_its_own(plan: topoopt.Plan, written: Any) -> None:
    (graph,) = ElementTree.fromstring(written("nccl")["graph.xml"])
    assert set(graph.attrib) >= GRAPH
    assert (graph.attrib["id"], graph.attrib["pattern"]) == ("0", "4")
    assert {graph.attrib["typeintra"], graph.attrib["typeinter"]} <= set(TYPES)
    rings = max(map(len, plan.fabric.rings.values()))
    assert len(graph) == int(graph.attrib["nchannels"]) == rings
    for number, channel in enumerate(graph):
        first, *inside, last = channel
        assert (first.tag, last.tag) == ("net", "net")
        assert int(first.attrib["dev"], 16) == int(last.attrib["dev"], 16) == number
        assert [gpu.attrib for gpu in inside] == [{"dev": f"{place:x}"} for place in range(len(inside))]


def test_a_tenth_nic_and_later_ones_are_hexadecimal() -> None:
    wide = topoopt.plan("vgg16", servers=16, degree=12, fabrics=(), budget=0, wirings="strides")
    (graph,) = ElementTree.fromstring(dict(FORMATS["nccl"].write(deployment(wide)))["graph.xml"])
    assert [channel[0].attrib["dev"] for channel in graph] == [f"{ring:x}" for ring in range(len(graph))]
    assert len(graph) > 10


def test_the_environment_and_the_tuner(written: Any) -> None:
    files = written("nccl")
    pairs = dict(line.split("=", 1) for line in files["nccl.env"].splitlines())
    assert pairs["NCCL_ALGO"] == "Ring"
    assert pairs["NCCL_MIN_NCHANNELS"] == pairs["NCCL_MAX_NCHANNELS"] == "4"
    assert pairs["NCCL_SOCKET_IFNAME"] == "=ens1f0,ens1f1,ens2f0,ens2f1"
    assert "NCCL_IB_HCA" not in pairs  # nobody said which devices there are
    assert {pairs[f"NCCL_{kind}_FILE"] for kind in ("TOPO", "GRAPH", "TUNER_CONFIG")} <= set(files)
    (row,) = csv.reader(files["tuner.csv"].splitlines())
    assert (row[0], row[3], row[4], row[5]) == ("allreduce", "ring", "simple", "4")
    assert "in the order of\nranks, whatever these files say" in files["README.txt"]


def test_the_tuner_has_a_row_for_what_there_is(expert_plan: topoopt.Plan) -> None:
    rows = list(csv.reader(str(FORMATS["nccl"].write(deployment(expert_plan))["tuner.csv"]).splitlines()))
    assert [row[0] for row in rows] == ["allgather", "reducescatter"]


def test_servers_with_other_nics_have_files_of_their_own(plan: topoopt.Plan) -> None:
    given = deployment(plan)
    devices = tuple(
        Interface(one.name, one.nic, one.port, f"02:00:00:00:00:{place:02x}", f"mlx5_{place}")
        for place, one in enumerate(given.inventory.servers[1].interfaces)
    )
    files = dict(FORMATS["nccl"].write(renamed(given, interfaces=devices)))
    assert len([name for name in files if name.endswith("/topology.xml")]) == 16
    assert "NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3\n" in str(files["srv001/nccl.env"])
    nets = list(ElementTree.fromstring(files["srv001/topology.xml"]).iter("net"))
    assert [net.attrib["name"] for net in nets] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert nets[3].attrib["guid"] == "0x020000000003"
    assert "NCCL_IB_HCA" not in str(files["srv000/nccl.env"])


def test_nccl_is_for_accelerators_of_nvidia(plan: topoopt.Plan) -> None:
    job = replace(plan.job, cluster=replace(plan.job.cluster, accelerator="mi300x"))
    with pytest.raises(Infeasible, match="MI300X is no accelerator that NCCL is known to run on"):
        FORMATS["nccl"].write(replace(deployment(plan), plan=replace(plan, job=job)))


# ranks


def test_ranks_are_where_the_plan_has_them(plan: topoopt.Plan, written: Any) -> None:
    files, each = written("ranks"), plan.job.cluster.accelerators_per_server
    found = [re.fullmatch(r"rank (\d+)=(\S+) slot=(\d+)", line) for line in files["rankfile"].splitlines()]
    ranks = [(int(one[1]), one[2], int(one[3])) for one in found if one]
    assert ranks == [(rank, f"srv{rank // each:03}", rank % each) for rank in range(16 * each)]
    assert files["hostfile"].splitlines() == [f"srv{server:03} slots={each}" for server in range(16)]
    assert files["slurm-hosts"].splitlines() == [host for _, host, _ in ranks]
    for server, row in enumerate(csv.DictReader(files["torchrun.tsv"].splitlines(), delimiter="\t")):
        words = shlex.split(row["command"])
        assert (row["host"], row["node_rank"]) == (f"srv{server:03}", str(server))
        assert words[0] == "torchrun"
        assert {f"--node-rank={server}", "--nnodes=16", "--master-addr=srv000"} < set(words)
    assert not any(
        name.startswith("ring-order/") for name in files
    )  # strides of 1: server r and r+1 have a link


def test_where_neighbors_by_number_have_no_link_a_ring_has_files(other_plan: topoopt.Plan) -> None:
    files = FORMATS["ranks"].write(deployment(other_plan))
    topology = other_plan.fabric.topology
    linked = all(topology.link_id(server, (server + 1) % 16) >= 0 for server in range(16))
    assert linked != ("ring-order/hostfile" in files)
    if not linked:
        lines = str(files["ring-order/hostfile"]).splitlines()
        order = [int(line.split()[0].removeprefix("srv")) for line in lines]
        assert order[0] == 0
        assert sorted(order) == list(range(16))
        assert all(topology.link_id(a, b) >= 0 for a, b in zip(order, order[1:] + order[:1], strict=True))
        assert "ring-order/" in str(files["README.txt"])


# Slurm: grammar of topology.conf (5) and topology.yaml (5)


def expanded(text: str) -> list[str]:
    names: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        found = re.fullmatch(r"([^\[]*)\[(\d+)-(\d+)\]", part)
        if found is None:
            names.append(part)
            continue
        width = len(found[2])
        names += [f"{found[1]}{number:0{width}}" for number in range(int(found[2]), int(found[3]) + 1)]
    return names


def test_slurm_gets_a_block_a_tree_and_a_ring(plan: topoopt.Plan, written: Any) -> None:
    files, hosts = written("slurm"), [f"srv{server:03}" for server in range(16)]
    block = [line for line in files["topology.conf"].splitlines() if not line.startswith("#")]
    found = re.fullmatch(r"BlockName=\S+ Nodes=(\S+)", block[0])
    assert found
    assert expanded(found[1]) == hosts
    assert block[1:] == ["BlockSizes=16"]
    tree = re.search(r"^SwitchName=\S+ Nodes=(\S+)$", files["topology-tree.conf"], re.MULTILINE)
    assert tree
    assert expanded(tree[1]) == hosts
    (topology,) = yaml.safe_load(files["topology.yaml"])
    assert list(topology) == [
        "topology",
        "cluster_default",
        "block",
    ]  # its name comes first, exactly one kind
    assert topology["block"]["block_sizes"] == [16]
    assert [expanded(one["nodes"]) for one in topology["block"]["blocks"]] == [hosts]
    assert files["topology-ring.yaml"].startswith("# Slurm 26.11 or later\n")
    (ring,) = yaml.safe_load(files["topology-ring.yaml"])
    order = [hosts.index(host) for host in expanded(ring["ring"]["rings"][0]["nodes"])]
    links = plan.fabric.topology
    assert all(links.link_id(a, b) >= 0 for a, b in zip(order, order[1:] + order[:1], strict=True))


def test_a_ring_of_more_than_16_nodes_is_not_said() -> None:
    large = topoopt.plan("vgg16", servers=18, degree=2, fabrics=(), budget=0, wirings="strides")
    assert "topology-ring.yaml" not in FORMATS["slurm"].write(deployment(large))


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a1", "a2", "a4"], "a[1-2],a4"),
        (["a9", "a10", "a11"], "a9,a[10-11]"),
        (["n099", "n100"], "n[099-100]"),
        (["b", "a", "a"], "b,a,a"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["a3", "a2"], "a3,a2"),
    ],
)
def test_lists_of_hosts_keep_their_order(names: list[str], text: str) -> None:
    assert hostlist(names) == text
    assert expanded(text) == names


# Kubernetes


def test_kubernetes_gets_labels_and_kueue_a_topology(written: Any) -> None:
    files = written("kubernetes")
    commands = [shlex.split(line) for line in files["label-nodes.sh"].splitlines()[2:]]
    label = re.compile(r"(?:[a-z0-9.-]+/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}=[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
    for rank, words in enumerate(commands):
        assert words[:5] == ["kubectl", "label", "node", f"srv{rank:03}", "--overwrite"]
        assert all(label.fullmatch(word) for word in words[5:])
        assert f"topoopt/rank={rank}" in words
    topology, flavor = yaml.safe_load_all(files["kueue.yaml"])
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert levels[-1] == "kubernetes.io/hostname"
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    ((key, value),) = flavor["spec"]["nodeLabels"].items()
    assert key == levels[0]
    assert all(f"{key}={value}" in words for words in commands)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("kubernetes", {"name": "GPU_1"}, 'server "GPU_1": a node is called by small letters'),
        ("kubernetes", {"rack": "row 1"}, 'rack "row 1": a label has at most 63'),
        ("ranks", {"name": "gpu 1"}, 'server "gpu 1": a host is called by letters'),
        ("slurm", {"name": "gpu,1"}, 'server "gpu,1": Slurm reads no name with a space, comma'),
        ("containerlab", {"name": "gpu 1"}, 'server "gpu 1": a container is called by letters'),
    ],
)
def test_names_that_a_reader_cannot_have_are_refused(
    plan: topoopt.Plan, name: str, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(Infeasible, match=re.escape(reason)):
        FORMATS[name].write(renamed(deployment(plan), **changes))


# containerlab: what its JSON Schema demands of name, nodes and links


def test_a_lab_has_every_cable_once(plan: topoopt.Plan, written: Any) -> None:
    files = written("containerlab")
    lab = yaml.safe_load(files["topoopt.clab.yml"])
    assert set(lab) == {"name", "topology"}
    nodes = lab["topology"]["nodes"]
    assert list(nodes) == [f"srv{server:03}" for server in range(16)]
    for host, node in nodes.items():
        assert node["kind"] == "linux"
        assert node["image"]
        ((folder, _, mode),) = (bind.split(":") for bind in node["binds"])
        assert (folder, mode) == ("routes", "ro")
        assert node["exec"] == [f"sh /routes/{host}.sh"]
        assert f"ip -batch {host}.batch" in files[f"routes/{host}.sh"]
        assert f"routes/{host}.batch" in files
    ends, joined = [], []
    for link in lab["topology"]["links"]:
        assert set(link) == {"endpoints"}
        assert len(link["endpoints"]) == 2
        pair = []
        for end in link["endpoints"]:
            assert re.fullmatch(r"\S+:\S+", end)
            node, interface = end.split(":")
            assert node in nodes
            assert interface != "eth0"
            assert len(interface) <= 15
            ends.append(end)
            pair.append(int(node.removeprefix("srv")))
        joined.append(tuple(sorted(pair)))
    assert len(set(ends)) == len(ends)
    topology = plan.fabric.topology
    cables = [(link.src, link.dst) for link in topology if link.src < link.dst]
    assert sorted(set(joined)) == sorted(cables)
    assert len(joined) == topology.ports.sum() // 2


def test_a_lab_has_no_links_that_go_one_way(directed_plan: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match="links go one way"):
        FORMATS["containerlab"].write(deployment(directed_plan))


def test_an_interface_that_linux_cannot_have_is_refused(plan: topoopt.Plan) -> None:
    given = deployment(plan)
    first = given.inventory.servers[0]
    long = replace(first.interfaces[0], name="a-name-of-17-long")
    servers = (replace(first, interfaces=(long, *first.interfaces[1:])), *given.inventory.servers[1:])
    cables = tuple(
        replace(one, interface=long.name)
        if (one.server, one.interface) == (first.name, first.interfaces[0].name)
        else one
        for one in given.inventory.cables
    )
    odd = replace(given, inventory=replace(given.inventory, servers=servers, cables=cables))
    with pytest.raises(Infeasible, match="a-name-of-17-long"):
        FORMATS["containerlab"].write(odd)
