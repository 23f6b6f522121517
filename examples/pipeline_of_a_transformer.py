"""How long does an iteration of Llama 3 8B take on three fabrics? Before anything is wired, in closed form, simulated.

Stages are servers of eight accelerators, so activations go from server to server, and so do the gradients of the two
replicas. The estimate knows bandwidths only; the closed form knows routes and rings; the flow simulator also knows what
meets on a link.
"""

from topoopt.finder import FabricRequest, build_fabric
from topoopt.simulation import pipeline_task_graph, pipelined_time, simulate
from topoopt.transformers import (
    Configuration,
    System,
    configuration_table,
    estimate,
    find_calibration,
    make_pipelined_step,
)
from topoopt.workloads.transformer import find_transformer

DEGREE, BANDWIDTH_BPS = 4, 400e9

model = find_transformer("llama3-8b")
system = System("h100", 8, 3600e9, DEGREE * BANDWIDTH_BPS / 8)
calibration = find_calibration("h100")

for chunks in (1, 4):
    configuration = Configuration(
        tp=8, pp=4, dp=2, vpp=chunks, global_batch=32, sequence=8192, zero=1, sequence_parallel=True
    )
    estimated = estimate(model, configuration_table([configuration]), system, calibration)
    print(f"{chunks} chunks a stage: estimated {estimated.iteration_time_s[0]:.3f} s")
    step = make_pipelined_step(model, configuration, system, calibration)
    graph = pipeline_task_graph(step)
    for name in ("ideal-switch", "torus", "topoopt"):
        fabric = build_fabric(name, FabricRequest(step.servers, DEGREE, BANDWIDTH_BPS, graph.groups))
        closed, flow = pipelined_time(step, fabric), simulate("flow", graph, fabric)
        print(
            f"  {name:12}  closed form {closed.iteration_time_s:.3f} s, of which bubble {closed.bubble_s:.3f} s and "
            f"transfers {closed.transfer_s:.3f} s; flow simulator {flow.iteration_time_s:.3f} s"
        )
