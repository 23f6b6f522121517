"""``topoopt.sweep``: many plans from one file, stored as they are made."""

import os
from contextlib import AbstractContextManager
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.jobs import expecting
from topoopt.schema.words import checked_arguments
from topoopt.studies.sweep import (
    Crew,
    SweepAnswer,
    SweepPreview,
    count_finished,
    kept_processes,
    kept_ray_cluster,
    ray_cluster,
    read_sweep,
    run_sweep,
)
from topoopt.studies.sweep import processes as processes_here

DATABASE = ".duckdb"


@checked_arguments
def sweep(
    file: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    processes: int = 0,
    ray: str | None = None,
    dry_run: bool = False,
    mix_versions: bool = False,
    on_progress: Progress = silent,
) -> SweepAnswer | SweepPreview:
    """Plan every combination of models, clusters, fabrics and seeds in a file, and store the results.

    What is in the results file already is not computed again: after Ctrl-C, a crash, or with more values in the
    sweep, the same call goes on. Read them with :func:`topoopt.results`.

    Parameters
    ----------
    file
        The sweep, as YAML.
    out
        Where results go; ``FILE.duckdb`` beside the sweep where not given.
    processes
        Points computed at a time; 0 for one on each core.
    ray
        Compute on a Ray cluster: ``auto``, ``local``, ``ray://host:port``.
    dry_run
        Only say what would be computed; no file is written.
    mix_versions
        Go on in a file of another version of topoopt.
    on_progress
        Called with the stage, what is done and what there is.

    Returns
    -------
    SweepAnswer or SweepPreview

    Raises
    ------
    InvalidInput
        If the file is no sweep, or ``out`` holds no results.
    """
    place = os.fspath(file)
    with expecting(place, "sweep"):
        read = read_sweep(place)
    place = _results_of(file) if out is None else os.fspath(out)
    crew = crew_of(processes, ray)
    if dry_run:
        return SweepPreview(read, place, count_finished(read, place))
    return SweepAnswer(
        read, place, run_sweep(read, place, crew, on_progress=on_progress, mix_versions=mix_versions)
    )


def _results_of(file: str | os.PathLike[str]) -> str:
    if not Path(file).name:
        raise InvalidInput(f'FILE.yaml: expected the name of a file, got "{os.fspath(file)}"')
    return str(Path(file).with_suffix(DATABASE))


def crew_of(processes: int, address: str | None) -> Crew:
    """Return who computes: processes of this machine, or a Ray cluster.

    Raises
    ------
    InvalidInput
        For a negative number, or no cluster there.
    """
    _check_crew(processes, address)
    return processes_here(processes) if address is None else ray_cluster(address, processes)


def kept_crew(processes: int, address: str | None) -> AbstractContextManager[Crew]:
    """Return who computes more than once, until the context ends.

    Raises
    ------
    InvalidInput
        As :func:`crew_of`.
    """
    _check_crew(processes, address)
    return kept_processes(processes) if address is None else kept_ray_cluster(address, processes)


def _check_crew(processes: int, address: str | None) -> None:
    if processes < 0:
        raise InvalidInput(f"processes: expected an integer >= 0, got {processes}")
    if address == "":
        raise InvalidInput("ray: expected auto, local or an address such as ray://host:10001, got nothing")
