"""What the page of a plan says of a job known by its traffic: its bytes, and how often it was wired."""

from topoopt.base.units import format_bytes, format_time
from topoopt.jobs import TrafficWork
from topoopt.pages.laid_traffic_page import allreduce_words
from topoopt.pages.rows import Entries
from topoopt.pages.words import counted
from topoopt.pages.work_page import WorkPage, cluster_words, spread_words
from topoopt.plans import Plan


def job_facts(plan: Plan) -> Entries:
    """Return the bytes and the cluster."""
    traffic = plan.traffic()
    moved = [format_bytes(traffic.mp_bytes)] if traffic.mp_bytes or not traffic.allreduce else []
    if traffic.allreduce:
        moved.append(f"AllReduce of {allreduce_words(traffic)}")
    said = f"{' and '.join(moved)}, all of it ready at once; no strategy to search"
    work = plan.job.work
    if isinstance(work, TrafficWork) and work.compute_s:
        beside = f"{work.hidden_share:.0%} of it beside computation, the rest after it"
        said = f"{' and '.join(moved)}, {beside}; no strategy to search"
        computes = f"{format_time(work.compute_s)} an iteration, by the kernels of the recording"
        return {"bytes": said, "computes": computes, "cluster": cluster_words(plan.job.cluster)}
    return {"bytes": said, "cluster": cluster_words(plan.job.cluster)}


def search_facts(plan: Plan) -> Entries:
    """Return how many degree splits were tried."""
    return {"tried": f"{counted(len(plan.search.seed_times_s), 'degree split')}{spread_words(plan)}"}


def made_by(plan: Plan) -> Entries:
    """Return the matrix's name."""
    return {"traffic": plan.job.name}


TRAFFIC_PAGE = WorkPage(job_facts, search_facts, made_by)
