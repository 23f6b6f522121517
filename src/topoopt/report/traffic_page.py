"""What the page of a plan says of a job known by its traffic matrix: its bytes, and how often it was wired."""

from topoopt.plan import Plan
from topoopt.report.rows import Entries
from topoopt.report.words import counted
from topoopt.report.work_page import WorkPage, cluster_words, spread_words
from topoopt.units import format_bytes


def job_facts(plan: Plan) -> Entries:
    """Return the bytes and the cluster."""
    moved = f"{format_bytes(plan.traffic().mp_bytes)}, all of it ready at once; no strategy to search"
    return {"bytes": moved, "cluster": cluster_words(plan.job.cluster)}


def search_facts(plan: Plan) -> Entries:
    """Return how many degree splits were tried."""
    return {"tried": f"{counted(len(plan.search.seed_times_s), 'degree split')}{spread_words(plan)}"}


def made_by(plan: Plan) -> Entries:
    """Return the matrix's name."""
    return {"traffic": plan.job.name}


TRAFFIC_PAGE = WorkPage(job_facts, search_facts, made_by)
