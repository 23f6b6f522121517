"""The question: a model on a cluster, how its costs are counted, and how people write that."""

from topoopt.job.job import LARGEST_TO_KEEP as LARGEST_TO_KEEP
from topoopt.job.job import Job as Job
from topoopt.job.job import Profile as Profile
from topoopt.job.job import job_mfu as job_mfu
from topoopt.job.job import job_traffic as job_traffic
from topoopt.job.job import layout_of as layout_of
from topoopt.job.job import layout_strategies as layout_strategies
from topoopt.job.job import make_job as make_job
from topoopt.job.job import traffic_job as traffic_job
from topoopt.job.job import training_job as training_job
from topoopt.job.job_file import cluster_places as cluster_places
from topoopt.job.job_file import job_from_mapping as job_from_mapping
from topoopt.job.job_file import read_cluster_part as read_cluster_part
from topoopt.job.job_file import read_job as read_job
from topoopt.job.request import DEFAULT_CLUSTER as DEFAULT_CLUSTER
from topoopt.job.request import JobRequest as JobRequest
from topoopt.job.request import in_its_place as in_its_place
from topoopt.job.requested_job import requested_job as requested_job
from topoopt.job.settings import MEMORY_CHECKS as MEMORY_CHECKS
from topoopt.job.settings import JobSettings as JobSettings
from topoopt.job.source import is_plan as is_plan
from topoopt.job.source import request_of as request_of
from topoopt.job.training import ORDER as ORDER
from topoopt.job.training import Layout as Layout
from topoopt.job.training import Training as Training
from topoopt.job.training import Words as Words
