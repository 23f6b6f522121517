"""The search for a job of operators: chains of proposals, strategy and topology in turn."""

from topoopt.ahead import wait_for
from topoopt.job import Job
from topoopt.plan import SearchRecord
from topoopt.search.candidate import Candidate, candidate_on
from topoopt.search.compile_ahead import use_loads
from topoopt.search.markov_chains import run_chains, uniform_starts
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress


def search_operators(
    job: Job, options: SearchOptions, on_progress: Progress
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the starts, data parallelism first, and every chain's answer, all simulated."""
    made = 0

    def tick(proposals: int) -> None:
        nonlocal made
        made += proposals
        on_progress("searching strategy and topology", made, options.budget)

    starts = uniform_starts(job, options)
    first = min(starts, key=lambda row: row.time_s).strategy
    wait_for("chain", use_loads)
    chains = run_chains(job, options, tick, first)
    searched = [
        candidate_on(job, row.strategy, row.fabric, options.rules, options.seed) for row in chains.answers
    ]
    times_s = tuple(row.time_s for row in searched)
    because, convergence = chains.best.stopped_because, chains.best.convergence
    return starts, searched, SearchRecord(chains.proposals, because, times_s, convergence, chains.cpu_s)
