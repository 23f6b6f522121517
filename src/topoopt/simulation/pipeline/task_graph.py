"""From a pipelined step to a task graph: every pass, transfer and collective, in the order of the schedule."""

from topoopt.base.errors import InvalidInput
from topoopt.simulation.draft import Draft
from topoopt.simulation.pipeline.gradients import OPTIMIZER, add_end
from topoopt.simulation.pipeline.order import add_order, add_sends, add_surroundings
from topoopt.simulation.pipeline.passes import add_passes
from topoopt.simulation.pipeline.task_count import refuse_too_many_tasks
from topoopt.simulation.task_graph import TaskGraph
from topoopt.workloads.pipelined_step import PipelinedStep


def pipeline_task_graph(step: PipelinedStep, iterations: int = 1, *, one_by_one: bool = False) -> TaskGraph:
    """Return the task graph of ``iterations`` training iterations.

    A worker takes its passes strictly in the order of its schedule, and is taken up by the exchanges inside them.
    What it sends to its neighbors travels while it goes on, unless chunks are blocking. In the next iteration a worker
    begins when its optimizer is done, and a chunk when its parameters are gathered.

    Parameters
    ----------
    one_by_one : bool
        Whether a pass is cut at every exchange inside it. Otherwise it computes first and then exchanges the bytes
        of all of them at once, which takes as long where nothing is shared, but for the latency of each.

    Raises
    ------
    InvalidInput
        If ``iterations`` is below 1, or there would be too many tasks.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
       SC 2021, section 2.2.
    """
    if iterations < 1:
        raise InvalidInput(f"task graph: iterations must be >= 1, got {iterations}")
    refuse_too_many_tasks(step, iterations)
    draft = Draft()
    passes = add_passes(draft, step, one_by_one=one_by_one)
    stages = add_order(draft, step, passes)
    add_sends(draft, step, passes, stages)
    around = add_surroundings(draft, step, stages)
    add_end(draft, step, passes, stages, around)
    return draft.graph(step.servers, iterations, (*_chunk_names(step), OPTIMIZER))


def _chunk_names(step: PipelinedStep) -> list[str]:
    length = len(step.chunks) // step.ends
    ends = ("", " from the other end")
    return [f"chunk {index % length}{ends[index // length]}" for index in range(len(step.chunks))]
