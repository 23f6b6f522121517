"""What has to move in one iteration when the published models are trained data parallel on 16 servers?

Embedding tables are placed, one server each in turn; everything else is replicated.
"""

from topoopt.base.units import format_bytes
from topoopt.workloads import MODELS, data_parallel, extract_traffic, load_model

SERVERS, ACCELERATORS_PER_SERVER = 16, 4

for name in MODELS:
    graph = load_model(name, servers=SERVERS)
    batch = SERVERS * ACCELERATORS_PER_SERVER * graph.batch_per_accelerator
    traffic = extract_traffic(graph, data_parallel(graph, SERVERS), batch)
    print(
        f"{name:10} gradients {format_bytes(traffic.allreduce_bytes):>9}, MP {format_bytes(traffic.mp_bytes):>9}"
    )
