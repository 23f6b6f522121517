"""``topoopt rewire``: from the wiring of one plan to that of another with the fewest moved fibers."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.frontends.cli.output import check_table, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import File, Switch

_ENDS = ("from", "to")
COLUMNS = (
    *("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface", "panel_name"),
    *(f"{end}_{key}" for end in _ENDS for key in ("server_name", "interface_name", "cable", "panel_port")),
)


class RewireWords(TypedDict, total=False):
    """Allowed moves, and output files."""

    keep_running: Switch
    """Keep the job running: never disconnect it, and rename no server."""
    no_relabel: Switch
    """Keep rank r of the new plan on server r."""
    interfaces_per_panel: int
    """Interfaces per server on one panel (default: the fewest that suffice)."""
    inventory: File
    """Inventory file (YAML, TOML, JSON) of servers, interfaces, panels, ports and cables; missing names are
    generated."""
    out: File
    """Write every move, in order, as CSV or Parquet."""


@spread
def rewire(
    old: Annotated[str, Argument(metavar="OLD", help="Present plan or wiring file.")],
    new: Annotated[str, Argument(metavar="NEW", help="Next plan or wiring file.")],
    words: RewireWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the fiber moves, in order, from one plan or wiring to the next."""
    out = words.get("out")
    check_table(out, "--out")
    with progress("looking for the fewest moves"):
        answer = topoopt.rewire(
            old,
            new,
            keep_running=words["keep_running"],
            relabel=not words["no_relabel"],
            interfaces_per_panel=words.get("interfaces_per_panel"),
            inventory=words.get("inventory"),
        )
    if out is not None:
        write_table(out, COLUMNS, answer.moves())
    show(answer, as_json)
