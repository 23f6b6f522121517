"""``topoopt.compare``: the same job on other fabrics."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from topoopt.base.progress import Progress, silent
from topoopt.frontends.verbs.job_request import Source
from topoopt.frontends.verbs.plan import plan_from_file, plan_without_baselines
from topoopt.frontends.verbs.pricing import pricing
from topoopt.plans import Comparison, Plan
from topoopt.schema.words import PlanWords, checked_arguments, checked_words
from topoopt.search import SearchOptions, checked_fabrics, checked_simulators, compare_fabrics


@checked_arguments
def compare(
    model: Source | Plan,
    *,
    fabrics: Sequence[str] | None = None,
    simulator: str | None = None,
    simulators: Sequence[str] | None = None,
    collective: str | None = None,
    on_progress: Progress = silent,
    **words: Unpack[PlanWords],
) -> Comparison:
    """Put the same job on other fabrics, each with a strategy searched for it.

    Parameters
    ----------
    model
        A plan or its file; or whatever :func:`topoopt.plan` takes, and a plan is made first.
    fabrics
        Names of fabrics; those of :func:`topoopt.plan` where not given. The plan's own is always the first row.
    simulator
        ``analytic`` (where not given), ``flow`` or ``packet``.
    simulators
        Two or more instead: every fabric by each, and by how much they differ.
    collective
        How AllReduces run; see :func:`topoopt.simulate`. As the plan has it where not given; of ``auto`` every fabric
        has rings where these are faster.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        As :func:`topoopt.plan` takes them; of a plan those of the search alone.

    Returns
    -------
    Comparison
        With ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown word or name, or words that do not go together.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=50)
    >>> [row.fabric for row in topoopt.compare(plan, fabrics=["torus", "expander"], baseline_budget=10).fabrics]
    ['topoopt', 'torus', 'expander']
    """
    checked_words(words, PlanWords)
    levels = checked_simulators(simulator, simulators)
    names = checked_fabrics(fabrics, levels)
    priced = pricing(words)
    plan, options = _planned(model, words, on_progress)
    return compare_fabrics(
        plan,
        options,
        priced,
        fabrics=names,
        simulators=levels,
        collective=collective,
        on_progress=on_progress,
    )


def _planned(
    model: Source | Plan, words: Mapping[str, Any], on_progress: Progress
) -> tuple[Plan, SearchOptions]:
    """Return the plan and the options of its search, which words may change."""
    return plan_from_file(model, words) or plan_without_baselines(model, words, on_progress)  # type: ignore[arg-type]
