"""topoopt: which network, and which way of splitting the model, trains a job fastest for the money?

The verbs of the command line are functions here, by the same names, and answer with the same nouns::

    plan = topoopt.plan("dlrm", servers=128, degree=4, bandwidth="100Gbps")

Names are imported when they are first used, so that ``import topoopt`` stays quick.
"""

from typing import TYPE_CHECKING

from topoopt.base.answers import __version__
from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # through one room, lest importing the room topoopt.plan hide the verb of that name
    from topoopt.base.errors import Infeasible as Infeasible
    from topoopt.base.errors import InvalidInput as InvalidInput
    from topoopt.base.errors import NoRoute as NoRoute
    from topoopt.base.errors import TopoOptError as TopoOptError
    from topoopt.catalog import ClusterSpec as ClusterSpec
    from topoopt.catalog import HardwareTables as HardwareTables
    from topoopt.clusters import ClusterResult as ClusterResult
    from topoopt.clusters import write_cluster_result as write_cluster_result
    from topoopt.clusters.interleave import Interleaving as Interleaving
    from topoopt.clusters.interleave import JobPhases as JobPhases
    from topoopt.clusters.interleave import SharingComparison as SharingComparison
    from topoopt.clusters.interleave import write_profile as write_profile
    from topoopt.collectives.frontier import CollectiveAnswer as CollectiveAnswer
    from topoopt.finder import RingNetwork as RingNetwork
    from topoopt.frontends.verbs import calibrate_serving as calibrate_serving
    from topoopt.frontends.verbs import choose as choose
    from topoopt.frontends.verbs import cluster as cluster
    from topoopt.frontends.verbs import collective as collective
    from topoopt.frontends.verbs import compare as compare
    from topoopt.frontends.verbs import cost as cost
    from topoopt.frontends.verbs import doctor as doctor
    from topoopt.frontends.verbs import fail as fail
    from topoopt.frontends.verbs import finetune as finetune
    from topoopt.frontends.verbs import hardware as hardware
    from topoopt.frontends.verbs import interleave as interleave
    from topoopt.frontends.verbs import llm as llm
    from topoopt.frontends.verbs import mltcp as mltcp
    from topoopt.frontends.verbs import models as models
    from topoopt.frontends.verbs import phases as phases
    from topoopt.frontends.verbs import plan as plan
    from topoopt.frontends.verbs import report as report
    from topoopt.frontends.verbs import results as results
    from topoopt.frontends.verbs import results_chart as results_chart
    from topoopt.frontends.verbs import rewire as rewire
    from topoopt.frontends.verbs import rl as rl
    from topoopt.frontends.verbs import rl_runs as rl_runs
    from topoopt.frontends.verbs import serving as serving
    from topoopt.frontends.verbs import serving_plan as serving_plan
    from topoopt.frontends.verbs import serving_runs as serving_runs
    from topoopt.frontends.verbs import simulate as simulate
    from topoopt.frontends.verbs import studio as studio
    from topoopt.frontends.verbs import studio_answer as studio_answer
    from topoopt.frontends.verbs import sweep as sweep
    from topoopt.frontends.verbs import topology as topology
    from topoopt.frontends.verbs import traffic as traffic
    from topoopt.frontends.verbs import verify as verify
    from topoopt.frontends.verbs import write_wiring as write_wiring
    from topoopt.frontends.web import StudioAddress as StudioAddress
    from topoopt.frontends.web import StudioAnswer as StudioAnswer
    from topoopt.inference import ServingAnswer as ServingAnswer
    from topoopt.jobs import ModelList as ModelList
    from topoopt.measurements import CalibrationFit as CalibrationFit
    from topoopt.measurements import CollectiveTimes as CollectiveTimes
    from topoopt.measurements.serving import PredictedServing as PredictedServing
    from topoopt.measurements.serving import write_serving_calibration as write_serving_calibration
    from topoopt.pages import FORMATS as FORMATS
    from topoopt.pages import Page as Page
    from topoopt.pages import Section as Section
    from topoopt.pages import Table as Table
    from topoopt.pages import WrittenReport as WrittenReport
    from topoopt.pages import check_chart_file as check_chart_file
    from topoopt.pages import cost_page as cost_page
    from topoopt.pages import draw_charts as draw_charts
    from topoopt.pages import draw_page as draw_page
    from topoopt.pages import notebook_html as notebook_html
    from topoopt.pages import page_of as page_of
    from topoopt.pages import page_text as page_text
    from topoopt.pages import plot_answer as plot_answer
    from topoopt.pages import topology_chart as topology_chart
    from topoopt.pages import write_chart as write_chart
    from topoopt.plans import Comparison as Comparison
    from topoopt.plans import Plan as Plan
    from topoopt.plans import plan_to_mapping as plan_to_mapping
    from topoopt.plans import read_plan as read_plan
    from topoopt.plans import write_plan as write_plan
    from topoopt.plans.inventory import Inventory as Inventory
    from topoopt.plans.inventory import RewiringAnswer as RewiringAnswer
    from topoopt.pricing import CostComparison as CostComparison
    from topoopt.reinforcement import RlRuns as RlRuns
    from topoopt.reinforcement import RlStep as RlStep
    from topoopt.routing import LaidTraffic as LaidTraffic
    from topoopt.search import FineTuning as FineTuning
    from topoopt.simulation import Simulation as Simulation
    from topoopt.studies.choice import Choice as Choice
    from topoopt.studies.failure import AvailabilityAnswer as AvailabilityAnswer
    from topoopt.studies.failure import FailureAnswer as FailureAnswer
    from topoopt.studies.sweep import ResultsAnswer as ResultsAnswer
    from topoopt.studies.sweep import SweepAnswer as SweepAnswer
    from topoopt.studies.sweep import SweepPreview as SweepPreview
    from topoopt.studies.verification import VerificationAnswer as VerificationAnswer
    from topoopt.topologies.wirings import WiringAnswer as WiringAnswer
    from topoopt.workloads import Operator as Operator
    from topoopt.workloads import OperatorGraph as OperatorGraph
    from topoopt.workloads import Traffic as Traffic
    from topoopt.workloads import Weight as Weight
    from topoopt.workloads import traffic_from_matrix as traffic_from_matrix
    from topoopt.workloads.transformer import TransformerModel as TransformerModel

if TYPE_CHECKING:  # the types of what plug-ins of this distribution add; they are found by their entry points
    from topoopt.plugins.exports import ExportAnswer as ExportAnswer
    from topoopt.plugins.exports import ExportFormats as ExportFormats
    from topoopt.plugins.exports import export as export
    from topoopt.plugins.exports import export_formats as export_formats
    from topoopt.plugins.papers import Figure as Figure
    from topoopt.plugins.papers import figure_page as figure_page
    from topoopt.plugins.papers import overview_page as overview_page
    from topoopt.plugins.papers import reproduce as reproduce
    from topoopt.plugins.papers import reproducible as reproducible
    from topoopt.plugins.papers import write_figures_page as write_figures_page
    from topoopt.plugins.profiling import profile as profile
    from topoopt.plugins.profiling import profile_subject as profile_subject
    from topoopt.plugins.testbeds import TestbedRun as TestbedRun
    from topoopt.plugins.testbeds import TestbedsAnswer as TestbedsAnswer
    from topoopt.plugins.testbeds import testbed as testbed

__all__ = ("__version__", *hand_on_lazily(__name__, plugins=True))  # noqa: PLE0604 - the names above
