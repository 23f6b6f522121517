"""``topoopt.export``: a plan as files that people, servers, switches and other programs take."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.finder.rewiring import Joined
from topoopt.frontends.verbs import (
    InventorySource,
    JoinedSource,
    PlanSource,
    inventory_of,
    joined_and_name,
    plan_and_name,
)
from topoopt.plans.inventory import PANEL_KINDS
from topoopt.plugins.exports.answer import ExportAnswer, ExportFormats, exported
from topoopt.plugins.exports.deployment import deployment
from topoopt.plugins.exports.table import FORMATS
from topoopt.routing.forwarding import SPLITS, checked_prefixes
from topoopt.schema.files import check_folder, write_folder
from topoopt.schema.words import ForwardingWords, checked_arguments, checked_words


@checked_arguments
def export(
    plan: PlanSource,
    *,
    format: str | Sequence[str] = "all",
    inventory: InventorySource | None = None,
    present: JoinedSource | None = None,
    keep_running: bool = False,
    panels: str | None = None,
    out: str | os.PathLike[str] | None = None,
    on_progress: Progress = silent,
    **words: Unpack[ForwardingWords],
) -> ExportAnswer:
    """Export a plan: patch lists, server and switch configurations, and inputs of other programs.

    Parameters
    ----------
    plan
        A plan or its file.
    format
        A format of :func:`topoopt.export_formats`, several, or ``all``: every one that can say the plan.
    inventory
        Which server, interface, panel, port and cable is which, or the file that says it. What is not there is made
        up by a rule; all of it, if nothing is given. ``export(..., format="inventory")`` writes it.
    present
        What is wired now, a plan, its file or a wiring file: the patch list says the difference.
    keep_running
        A job runs on what is wired now: never cut it.
    panels
        What panels are, where no inventory says it: ``manual`` (where not given), ``polatis``, ``calient`` or
        ``sonic-ocs``.
    out
        A folder to be written. What an earlier export wrote there is replaced.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        How servers forward. ``paths``: ``hashed``, or ``pinned``, an address for each path; ``identity_prefix`` and
        ``link_prefix``: the addresses of servers, and of links.

    Returns
    -------
    ExportAnswer
        With the files, whether they are written or not.

    Raises
    ------
    InvalidInput
        For an unknown format; for a folder with files of others, or changed ones; for mistakes in the inventory, with
        the line.
    Infeasible
        If a format that is named cannot say the plan, or its links do not go with the inventory's panels.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=20, wirings="strides")
    >>> text = topoopt.export(plan, format="patch-list").files["patch-list.csv"]
    >>> print(text.splitlines()[1])
    panel0,1,2,srv000,ens1f0,srv001,ens1f0,panel0:1-2,connect,1
    """
    if panels is not None:
        check_known("panels", panels, PANEL_KINDS)
    names = (format,) if isinstance(format, str) else tuple(format)
    said = checked_words(words, ForwardingWords)
    check_known("paths", said["paths"], SPLITS)
    prefixes = said["identity_prefix"], said["link_prefix"]
    checked_prefixes(prefixes)
    forwarding = {"paths": said["paths"], "prefixes": prefixes}
    if out is not None:
        try:
            check_folder(os.fspath(out))
        except InvalidInput as error:
            raise InvalidInput(f"out: {error}") from None
    made, name = plan_and_name(plan)
    now: Joined | None = None
    if present is not None:
        now, _ = joined_and_name(present)
    elif keep_running:
        raise InvalidInput("keep_running: is of what is wired now; give present=PLAN, too")
    given = inventory_of(inventory)
    if panels is not None and given.content.panels:
        raise InvalidInput(f"panels: the inventory says what panels are, got {panels}; leave it out")
    on_progress("naming cables", 0, 0)
    there = deployment(made, given, present=now, kind=panels or "manual", keep_running=keep_running)
    there = replace(there, **forwarding)
    folder = None if out is None else os.fspath(out)
    answer = ExportAnswer(name, there, *exported(there, names, on_progress), folder)
    if folder is not None:
        write_folder(folder, answer.files)
    return answer


def export_formats() -> ExportFormats:
    """List the formats in which a plan can be exported: what each is, its files, and who reads them.

    Returns
    -------
    ExportFormats
    """
    return ExportFormats(tuple(FORMATS.values()))
