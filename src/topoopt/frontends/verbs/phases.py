"""``topoopt.phases``: what a job sends on a link in one iteration, and when."""

from typing import Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.units import parse_time
from topoopt.clusters.interleave import JobPhases
from topoopt.frontends.verbs.profile_source import HowProfiled, ProfileSource, phases_of_source
from topoopt.schema.words import PhasesWords, amount, checked_arguments, checked_words


@checked_arguments
def phases(job: ProfileSource, **words: Unpack[PhasesWords]) -> JobPhases:
    """Say what a job sends on a link in one iteration, and when: from a simulation, or from what was measured.

    Parameters
    ----------
    job
        A plan or its file, a FlexNet task graph or Chakra's traces, which are simulated; a simulation; a CSV of
        counters or rates over several iterations, of which the period is found; a profile or its job file.
    **words
        The flags of ``topoopt phases`` with underscores: ``simulator``, ``link``, ``steady_state``,
        ``iteration_time``, ``tolerance``, ``name``.

    Returns
    -------
    JobPhases

    Raises
    ------
    InvalidInput
        For an unknown word or name, a file that is none of these, a link that is not there, and counters without a
        period.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    >>> answer = topoopt.phases(plan, simulator="analytic")
    >>> answer.profile.iteration_time_s == plan.outcome.iteration_time_s
    True
    """
    how = checked_words(words, PhasesWords)
    if not how.get("name", "a name"):
        raise InvalidInput(
            'name: expected what the job is to be called, got ""; leave it out for its own name'
        )
    if "iteration_time" in how:
        how["iteration_time_s"] = amount(parse_time, how.pop("iteration_time"), "iteration_time")
    return phases_of_source(job, HowProfiled(**how))
