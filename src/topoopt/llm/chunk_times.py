"""Durations of every chunk of a pipeline, for whoever replays the iteration as tasks."""

from topoopt.llm.calibration import Calibration
from topoopt.llm.configuration import Configuration
from topoopt.llm.step_times import ChunkTimes
from topoopt.llm.system import System
from topoopt.transformer import TransformerModel


def chunk_times(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> ChunkTimes:
    """Return forward and backward time of one micro-batch in each chunk, consistent with :func:`estimate`.

    Chunk c holds the layers of virtual stage c and runs on stage ``c % pp``. What leaves a server (pipeline
    transfers, data parallel collectives, groups that span servers) is not in it.
    """
    raise NotImplementedError
