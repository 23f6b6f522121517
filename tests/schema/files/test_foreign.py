"""Files of other programs are known by their beginnings, before any reader; files of ours are none of them.

The examples of Slurm, htsim and Chakra's JSON are those of Slurm's manual, of ASTRA-sim and of mlcommons/chakra (cut).
"""

from pathlib import Path

import pytest

from topoopt.schema.files import ForeignFile, read_bytes, read_text, write_folder
from topoopt.schema.files.foreign import foreign_format, foreign_formats

ROOT = Path(__file__).parents[3]
TREE = "SwitchName=s0 Nodes=dev[0-5]\nSwitchName=s1 Nodes=dev[6-11]\nSwitchName=s2 Switches=s[0-1]\n"
HTSIM = "Nodes 8\nTiers 3\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n"
CHAKRA = '{\n "workload_graph": [{"Id": 216, "Name": "aten::flatten", "NodeType": 4}],\n "ngpus": 8}\n'
FILES: tuple[tuple[str, str | bytes], ...] = (
    ("Slurm's topology.conf", "SwitchName=leaf1 Nodes=gpu[001-032]\n"),
    ("Slurm's topology.conf", "# two racks\n" + TREE),
    ("Slurm's topology.conf", "BlockName=b1 Nodes=node[01-18]\nBlockSizes=18\n"),
    ("Slurm's topology.yaml", "- topology: topo1\n  cluster_default: true\n  tree:\n    switches:\n"),
    ("Slurm's slurm.conf", "ClusterName=lab\nSlurmctldHost=head\n"),
    ("a hostfile of MPI", "node01 slots=8\nnode02 slots=8\n"),
    ("a hostfile of MPI", "# ours\nnode01 max_slots=8\n"),
    ("a hostfile of MPI", "rank 0=node01 slot=0\nrank 1=node01 slot=1\n"),
    ("a hostfile of MPI", "node1 8\nnode2 8\nnode3 8\n"),
    ("a hostfile of MPI", "# ours\nnode1:8\n10.0.0.2:8 # the new one\n"),
    ("a list of hosts, no cables", "dgx01\ndgx02\n"),
    ("a list of hosts, no cables", "srv000\nsrv000\nsrv001\nsrv001\n"),
    ("a list of hosts, no cables", "10.0.0.1\n10.0.0.2\n"),
    ("a list of hosts, no cables", "rank,host\n0,node1\n1,node2\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n255.255.255.255 broadcasthost\n::1 localhost\n10.0.0.1 node1\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n10.0.0.1 node1\n"),
    ("a configuration of ssh", "Host node1\n    HostName 10.0.0.1\nHost node2\nHostname 10.0.0.2\n"),
    ("a table of NetBox without cables", "name,slug\nLeaf,leaf\n"),
    ("a manifest of Kubernetes", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"),
    ("a manifest of Kubernetes", '{"apiVersion": "v1", "kind": "List", "items": []}'),
    ("a file of Docker Compose", "services:\n  web:\n    image: a\n"),
    ("a Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN pip install topoopt\n"),
    (
        "Megatron's arguments",
        "#!/bin/bash\nARGS='\n  --tensor-model-parallel-size 8 \\\n  --num-layers 96 \\\n'\n",
    ),
    ("DeepSpeed's configuration", '{"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}}'),
    ("DeepSpeed's configuration", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}'),
    ("Hugging Face Accelerate", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"),
    ("NeMo's configuration", "trainer:\n  num_nodes: 16\nexp_manager:\n  name: a\nmodel:\n  tp: 8\n"),
    ("torchtitan's configuration", "[model]\nname = 'llama3'\n\n[parallelism]\ntensor_parallel_degree = 8\n"),
    ("weights in HDF5", b"\x89HDF\r\n\x1a\n"),
    ("a pickle of Python", b"\x80\x04\x95\x10\x00"),
    ("a program of XLA", "HloModule jit_step, is_scheduled=true\n"),
    (
        "nccl-tests",
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728\n#\n#       size         count      type\n",
    ),
    ("a program in Python", "#!/usr/bin/env python3\nprint(1)\n"),
    ("a program in Python", '"""Train."""\n\nimport torch\nfrom torch import nn\n'),
    ("a shell script", "#!/bin/bash\n#SBATCH --nodes=4\nsrun train\n"),
    ("a notebook of Jupyter", '{"cells": [], "metadata": {}, "nbformat": 4}'),
    ("generation_config.json", '{"bos_token_id": 1, "eos_token_id": 2, "transformers_version": "4.40.0"}'),
    ("the index of a model's weights", '{"metadata": {"total_size": 1}, "weight_map": {"a": "b"}}'),
    ("the tokenizer of a model", '{"tokenizer_class": "LlamaTokenizer"}'),
    ("an adapter", '{"base_model_name_or_path": "a", "peft_type": "LORA"}'),
    ("weights in GGUF", b"GGUF\x03\0\0\0"),
    (
        "ibnetdiscover",
        '#\n# Topology file: generated on Mon\n#\nvendid=0x2c9\nSwitch 40 "S-1" # "Mellanox"\n',
    ),
    ("iblinkinfo", "CA: node01 HCA-1:\n      0x1  1  1[  ] ==( 4X 25.78 Gbps Active)\n"),
    ("ibstat", "CA 'mlx5_0'\n\tCA type: MT4129\n"),
    ("nvidia-smi topo -m", "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0-31\n"),
    ("the output of nvidia-smi", "+----+\n| NVIDIA-SMI 550.54  Driver Version: 550.54 |\n"),
    (
        "hwloc's topology",
        '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n',
    ),
    ("hwloc's topology", "Machine (2015GB total)\n  Package L#0\n"),
    ("NCCL's topology", '<system version="1">\n  <cpu numaid="0" affinity="f">\n'),
    ("neighbors by LLDP", '{"lldp": {"interface": [{"eth0": {}}]}}'),
    (
        "a topology of containerlab",
        "name: clos\ntopology:\n  nodes:\n    leaf1:\n      kind: nokia_srlinux\n",
    ),
    ("a device type of NetBox", "---\nmanufacturer: NVIDIA\nmodel: QM9700\nslug: qm9700\n"),
    (
        "cables of NetBox",
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\na,b,c,d,e,f\n",
    ),
    ("cables of NetBox", "ID,Label,Termination A,Termination B,Status\n1,,a,b,Connected\n"),
    ("a configuration of netplan", "network:\n  version: 2\n  ethernets:\n    eth0: {dhcp4: true}\n"),
    ("SONiC's config_db.json", '{"DEVICE_METADATA": {"localhost": {"hwsku": "a"}}, "PORT": {}}'),
    ("a configuration of FRR", "frr version 9.1\nfrr defaults traditional\n"),
    ("htsim's topology", HTSIM),
    ("htsim's matrix", "Nodes 16\nConnections 2\n0->1 id 1 start 0 size 1000\n"),
    ("ASTRA-sim's system", '{"scheduling-policy": "LIFO", "endpoint-delay": 10}'),
    ("ASTRA-sim's remote memory", '{"memory-type": "NO_MEMORY_EXPANSION"}'),
    ("ASTRA-sim's logical topology", '{"logical-dims": ["8"]}'),
    ("a network of ASTRA-sim 1.0", '{"topology-name": "Hierarchical", "dimensions-count": 2}'),
    ("a Chakra trace as JSON", CHAKRA),
    ("a Chakra trace as JSON", '{"nodes": [{"id": "0", "type": "COMM_COLL_NODE", "attr": []}]}'),
    ("of one collective for SimAI", "MICRO\n1\ntest -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1048576 1\n"),
    ("a configuration of ns-3", "ENABLE_QCN 1\nTOPOLOGY_FILE topology.txt\n"),
    ("a configuration of BookSim", "// ours\ntopology = torus;\nk = 8;\n"),
    ("Pajek", "*Vertices 3\n1 a\n"),
    ("GEXF", "<?xml version='1.0'?>\n<gexf version='1.2'>\n"),
    ("SNDlib", "?SNDlib native format; type: network\n"),
    ("a drawing of draw.io", '<mxfile host="app"></mxfile>'),
    ("a picture (SVG)", '<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
    ("Nsight Systems", b"SQLite format 3\0"),
    ("perftest", " #bytes     #iterations    BW peak[Gb/sec]\n 65536 5000 380\n"),
    ("iperf3", '{"start": {}, "intervals": [], "end": {}}'),
    ("a price list of AWS", '"FormatVersion","v1.0"\n"Disclaimer","none"\n"SKU","OfferTermCode"\n'),
    ("a price list of Azure", '{"BillingCurrency": "USD", "Items": []}'),
    ("of a cloud", "Instance Type,vCPU,Price\np5.48xlarge,192,98.32\n"),
    ("of a cloud", "InstanceType,AcceleratorName,Price\np5.48xlarge,H100,98.32\n"),
    ("bzip2", b"BZh91AY&SY"),
    ("Slurm's accounting", "JobID|JobName|Elapsed|State\n1|a|00:10:00|COMPLETED\n"),
    ("a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    ("a PDF", b"%PDF-1.7\n"),
    ("a picture", b"\x89PNG\r\n\x1a\n"),
    ("an office document", b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00[Content_Types].xml"),
)


@pytest.mark.parametrize(("words", "content"), FILES, ids=[words for words, _ in FILES])
def test_a_file_of_another_program_is_named_with_a_remedy(
    words: str, content: str | bytes, tmp_path: Path
) -> None:
    data = content.encode() if isinstance(content, str) else content
    for before in (b"", b"\xef\xbb\xbf") if isinstance(content, str) else (b"",):
        (tmp_path / "theirs").write_bytes(before + data.replace(b"\n", b"\r\n") if before else data)
        with pytest.raises(ForeignFile) as raised:
            read_bytes(tmp_path / "theirs")
        message = str(raised.value)
        assert message.startswith(f"{tmp_path / 'theirs'}: is ")
        assert words in message
        assert "; " in message
        assert "\n" not in message


def test_every_format_has_an_example_and_a_remedy() -> None:
    found = {foreign_format(data.encode() if isinstance(data, str) else data) for _, data in FILES}
    assert found == set(foreign_formats())
    for one in foreign_formats():
        assert one.remedy, one.words


@pytest.mark.parametrize(
    "content",
    [
        "",
        "0 1\n1 2\n2 0\n",
        "from to\na b\n",
        "source,target,bandwidth\na,b,100Gbps\n",
        "name: lab\nservers: 8\n",
        '{"model_type": "llama", "eos_token_id": 2, "transformers_version": "4"}',
        '{"a": {"apiVersion": "v1", "kind": "x"}}',
        '{"text": "\\"apiVersion\\": 1, \\"kind\\": 2"}',
        "item,usd\nnic,5\n",
        "import a b\n",
        "a b\nb c\nc a\n",
        "node1 node2\nnode2 node1\n",
        "10.0.0.1 10.0.0.2\n10.0.0.2 10.0.0.1\n",
        "servers: 8\ndegree: 4\n",
        "name,inputs\na,\n",
    ],
)
def test_what_is_like_one_is_read_on(content: str, tmp_path: Path) -> None:
    assert foreign_format(content.encode()) is None
    (tmp_path / "ours").write_text(content)
    assert read_text(tmp_path / "ours") == content


def test_no_example_of_ours_is_of_another_program() -> None:
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".ipynb", ".md", ".sh", ".svg", ".png"):
            assert foreign_format(path.read_bytes()) is None, path


def test_only_the_beginning_is_looked_at() -> None:
    assert foreign_format(b'{"a": "' + b"x" * 70_000 + b'", "weight_map": {}}') is None
    assert foreign_format(b"0 1\n" * 60 + b"SwitchName=a\n") is None


def test_a_folder_of_other_programs_files_is_replaced(tmp_path: Path) -> None:
    for text in ("<svg></svg>", "<svg> </svg>"):
        write_folder(tmp_path / "out", {"a.svg": text})
        assert (tmp_path / "out" / "a.svg").read_text() == text
