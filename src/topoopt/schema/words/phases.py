"""The words of a job's phases: whose link, by which simulator, how they are found in what was measured."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Switch, Time, Word


class PhasesWords(TypedDict, total=False):
    """All words that :func:`topoopt.phases` takes beside the job."""

    simulator: Annotated[str, Word("analytic|flow|packet", "flow")]
    """Of a plan or task graph: what says when it sends."""
    link: Annotated[str, Word("A-B|NAME|all")]
    """From node A to node B; of counters its name; all: every link that carries something. The busiest out of a
    server if not given."""
    steady_state: Switch
    """Of a plan whose iterations overlap: the mean of those in the middle."""
    iteration_time: Time
    """Of counters: about how long an iteration takes; looked for if not given."""
    tolerance: Annotated[float, Word("SHARE", 0.02)]
    """Of the bytes of an iteration, how many may be said to be sent at another moment, for fewer phases."""
    name: str
    """What the job is called; if not given as its plan or its file."""
