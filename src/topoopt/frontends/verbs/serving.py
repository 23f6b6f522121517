"""``topoopt.serving``: which deployment on which network answers users in time, for the least money."""

from typing import Unpack

from topoopt.frontends.verbs.llm.words import Transformer
from topoopt.frontends.verbs.progress import Progress, silent
from topoopt.frontends.verbs.served_question import served_question
from topoopt.inference import ServingAnswer, serve
from topoopt.schema.words import ServingWords, checked_arguments


@checked_arguments
def serving(
    model: Transformer = None, *, on_progress: Progress = silent, **words: Unpack[ServingWords]
) -> ServingAnswer:
    """Say which deployment of a transformer on which network answers users in time, for the least money.

    Every split of a replica, mode and share of prefill is looked at in closed form; what cannot hold the model or meet
    the objectives is left out. The most promising ones of each mode are simulated request by request, at the rate that
    is asked for, and at others to find the largest at which enough requests meet both objectives.

    Where accelerators are in several servers, that is what could be on a network that takes no time. Then every fabric
    gets the deployment that is best on it, simulated there: on topoopt wiring, routes and who sends keys and values to
    whom are chosen together.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, a job that serves a model, or a model; none
        for shapes by hand.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt serving`` with underscores: ``accelerators``, ``rate``, ``isl``, ``slo_ttft`` …

    Returns
    -------
    ServingAnswer
        With ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a value that is not allowed.
    Infeasible
        If the model fits nowhere, an objective cannot be met, or the rate is more than is stable; with what is
        possible.

    Examples
    --------
    >>> import topoopt
    >>> asked = {"accelerators": 2, "rate": 4, "slo_ttft": "1s", "slo_tpot": "50ms", "duration": "1min"}
    >>> found = topoopt.serving("llama3-8b", **asked, mode="chunked", top=1)
    >>> found.meets, found.best.candidate.deployment.mode
    (True, 'chunked')
    """
    return serve(served_question(model, words), on_progress)
