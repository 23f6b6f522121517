"""A plan on real Linux: servers are network namespaces, training is real PyTorch, and both are measured."""

from topoopt.testbed.answer import TestbedsAnswer as TestbedsAnswer
from topoopt.testbed.emulated import EMULATED as EMULATED
from topoopt.testbed.emulated import PAPER_CLUSTER as PAPER_CLUSTER
from topoopt.testbed.emulated import emulated as emulated
from topoopt.testbed.emulated import paper_fabric as paper_fabric
from topoopt.testbed.emulated import plan_on_links as plan_on_links
from topoopt.testbed.network import check_capacity as check_capacity
from topoopt.testbed.standing import listed as listed
from topoopt.testbed.standing import put_up as put_up
from topoopt.testbed.standing import take_down as take_down
from topoopt.testbed.training.fabric_run import CutLink as CutLink
from topoopt.testbed.training.fabric_run import FabricRun as FabricRun
from topoopt.testbed.training.job import PLAN as PLAN
from topoopt.testbed.training.job import WORKLOADS as WORKLOADS
from topoopt.testbed.training.job import job_of_plan as job_of_plan
from topoopt.testbed.training.job import paper_plan as paper_plan
from topoopt.testbed.training.prediction import MEASURED_BESIDE as MEASURED_BESIDE
from topoopt.testbed.training.prediction import REFERENCE as REFERENCE
from topoopt.testbed.training.ready import check_processes as check_processes
from topoopt.testbed.training.ready import check_ready as check_ready
from topoopt.testbed.training.testbed_run import TestbedRun as TestbedRun
from topoopt.testbed.training.testbed_run import testbed_scale as testbed_scale
from topoopt.testbed.training.testbed_run import train_on_fabrics as train_on_fabrics
from topoopt.testbed.training.train_on_fabric import PlannedCut as PlannedCut
from topoopt.testbed.training.train_on_fabric import TrainingSettings as TrainingSettings
