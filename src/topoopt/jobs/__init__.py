"""Jobs: a model on a cluster, its cost model, and its file format."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.jobs.file_kind import KINDS as KINDS
    from topoopt.jobs.file_kind import FileKind as FileKind
    from topoopt.jobs.file_kind import expecting as expecting
    from topoopt.jobs.file_kind import file_kind as file_kind
    from topoopt.jobs.file_kind import wrong_kind as wrong_kind
    from topoopt.jobs.job import Job as Job
    from topoopt.jobs.job import TrafficWork as TrafficWork
    from topoopt.jobs.job import Work as Work
    from topoopt.jobs.job import job_mfu as job_mfu
    from topoopt.jobs.job import job_on as job_on
    from topoopt.jobs.job import job_traffic as job_traffic
    from topoopt.jobs.job import make_job as make_job
    from topoopt.jobs.job import operators_of as operators_of
    from topoopt.jobs.job import refuse_too_many_servers as refuse_too_many_servers
    from topoopt.jobs.job import traffic_job as traffic_job
    from topoopt.jobs.job import training_job as training_job
    from topoopt.jobs.job import transformer_of as transformer_of
    from topoopt.jobs.job_source import ModelList as ModelList
    from topoopt.jobs.job_source import is_plan as is_plan
    from topoopt.jobs.job_source import is_serving_job as is_serving_job
    from topoopt.jobs.job_source import listed_models as listed_models
    from topoopt.jobs.job_source import read_serving_job as read_serving_job
    from topoopt.jobs.job_source import request_of as request_of
    from topoopt.jobs.request import DEFAULT_CLUSTER as DEFAULT_CLUSTER
    from topoopt.jobs.request import Described as Described
    from topoopt.jobs.request import JobRequest as JobRequest
    from topoopt.jobs.request import cluster_places as cluster_places
    from topoopt.jobs.request import in_its_place as in_its_place
    from topoopt.jobs.request import job_from_mapping as job_from_mapping
    from topoopt.jobs.request import read_cluster_part as read_cluster_part
    from topoopt.jobs.request import said_words as said_words
    from topoopt.jobs.request import scale_up_bandwidth_bps as scale_up_bandwidth_bps
    from topoopt.jobs.request import text_of_training as text_of_training
    from topoopt.jobs.request import training_kinds as training_kinds
    from topoopt.jobs.request import training_of_text as training_of_text
    from topoopt.jobs.requested_job import program_words as program_words
    from topoopt.jobs.requested_job import requested_job as requested_job
    from topoopt.jobs.settings import AUTO_BUCKET as AUTO_BUCKET
    from topoopt.jobs.settings import AUTO_MICROBATCHES as AUTO_MICROBATCHES
    from topoopt.jobs.settings import AUTOMATIC as AUTOMATIC
    from topoopt.jobs.settings import BUCKET_SIZES as BUCKET_SIZES
    from topoopt.jobs.settings import DDP_BUCKET_BYTES as DDP_BUCKET_BYTES
    from topoopt.jobs.settings import MEMORY_CHECKS as MEMORY_CHECKS
    from topoopt.jobs.settings import MICROBATCHES as MICROBATCHES
    from topoopt.jobs.settings import NO_BUCKETS as NO_BUCKETS
    from topoopt.jobs.settings import TIGHT as TIGHT
    from topoopt.jobs.settings import BucketText as BucketText
    from topoopt.jobs.settings import JobSettings as JobSettings
    from topoopt.jobs.settings import MicrobatchesText as MicrobatchesText
    from topoopt.jobs.settings import bucket_text as bucket_text
    from topoopt.jobs.settings import is_tight as is_tight
    from topoopt.jobs.settings import parse_bucket as parse_bucket
    from topoopt.jobs.settings import parse_microbatches as parse_microbatches
    from topoopt.jobs.work import ORDER as ORDER
    from topoopt.jobs.work import Layout as Layout
    from topoopt.jobs.work import OperatorsWork as OperatorsWork
    from topoopt.jobs.work import Profile as Profile
    from topoopt.jobs.work import PublishedLayout as PublishedLayout
    from topoopt.jobs.work import TransformerWork as TransformerWork
    from topoopt.jobs.work import layout_name as layout_name
    from topoopt.jobs.work import operators_work as operators_work

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
