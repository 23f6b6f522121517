"""topoopt: which network, and which way of splitting the model, trains a job fastest for the money?

The verbs of the command line are functions here, by the same names, and answer with the same nouns::

    plan = topoopt.plan("dlrm", servers=128, degree=4, bandwidth="100Gbps")

Names are imported when they are first used, so that ``import topoopt`` stays quick.
"""

from typing import TYPE_CHECKING

from topoopt.lazy_face import hand_on_lazily
from topoopt.version import __version__

if TYPE_CHECKING:  # through one room, lest importing the room topoopt.plan hide the verb of that name
    from topoopt.verbs import FORMATS as FORMATS
    from topoopt.verbs import AvailabilityAnswer as AvailabilityAnswer
    from topoopt.verbs import Choice as Choice
    from topoopt.verbs import ClusterResult as ClusterResult
    from topoopt.verbs import ClusterSpec as ClusterSpec
    from topoopt.verbs import CollectiveAnswer as CollectiveAnswer
    from topoopt.verbs import Comparison as Comparison
    from topoopt.verbs import CostComparison as CostComparison
    from topoopt.verbs import ExportAnswer as ExportAnswer
    from topoopt.verbs import ExportFormats as ExportFormats
    from topoopt.verbs import FailureAnswer as FailureAnswer
    from topoopt.verbs import Figure as Figure
    from topoopt.verbs import FineTuning as FineTuning
    from topoopt.verbs import HardwareTables as HardwareTables
    from topoopt.verbs import Infeasible as Infeasible
    from topoopt.verbs import Interleaving as Interleaving
    from topoopt.verbs import InvalidInput as InvalidInput
    from topoopt.verbs import Inventory as Inventory
    from topoopt.verbs import JobPhases as JobPhases
    from topoopt.verbs import LaidTraffic as LaidTraffic
    from topoopt.verbs import ModelList as ModelList
    from topoopt.verbs import NoRoute as NoRoute
    from topoopt.verbs import Operator as Operator
    from topoopt.verbs import OperatorGraph as OperatorGraph
    from topoopt.verbs import OwnFit as OwnFit
    from topoopt.verbs import Page as Page
    from topoopt.verbs import Plan as Plan
    from topoopt.verbs import PredictedServing as PredictedServing
    from topoopt.verbs import ResultsAnswer as ResultsAnswer
    from topoopt.verbs import RewiringAnswer as RewiringAnswer
    from topoopt.verbs import RingNetwork as RingNetwork
    from topoopt.verbs import RlRuns as RlRuns
    from topoopt.verbs import RlStep as RlStep
    from topoopt.verbs import Section as Section
    from topoopt.verbs import ServingAnswer as ServingAnswer
    from topoopt.verbs import SharingComparison as SharingComparison
    from topoopt.verbs import Simulation as Simulation
    from topoopt.verbs import StudioAddress as StudioAddress
    from topoopt.verbs import StudioAnswer as StudioAnswer
    from topoopt.verbs import SweepAnswer as SweepAnswer
    from topoopt.verbs import SweepPreview as SweepPreview
    from topoopt.verbs import Table as Table
    from topoopt.verbs import TestbedRun as TestbedRun
    from topoopt.verbs import TestbedsAnswer as TestbedsAnswer
    from topoopt.verbs import TopoOptError as TopoOptError
    from topoopt.verbs import Traffic as Traffic
    from topoopt.verbs import TransformerModel as TransformerModel
    from topoopt.verbs import VerificationAnswer as VerificationAnswer
    from topoopt.verbs import Weight as Weight
    from topoopt.verbs import WiringAnswer as WiringAnswer
    from topoopt.verbs import WrittenReport as WrittenReport
    from topoopt.verbs import calibrate_serving as calibrate_serving
    from topoopt.verbs import check_chart_file as check_chart_file
    from topoopt.verbs import choose as choose
    from topoopt.verbs import cluster as cluster
    from topoopt.verbs import collective as collective
    from topoopt.verbs import compare as compare
    from topoopt.verbs import cost as cost
    from topoopt.verbs import cost_page as cost_page
    from topoopt.verbs import draw_charts as draw_charts
    from topoopt.verbs import draw_page as draw_page
    from topoopt.verbs import export as export
    from topoopt.verbs import export_formats as export_formats
    from topoopt.verbs import fail as fail
    from topoopt.verbs import figure_page as figure_page
    from topoopt.verbs import finetune as finetune
    from topoopt.verbs import hardware as hardware
    from topoopt.verbs import interleave as interleave
    from topoopt.verbs import llm as llm
    from topoopt.verbs import mltcp as mltcp
    from topoopt.verbs import models as models
    from topoopt.verbs import notebook_html as notebook_html
    from topoopt.verbs import overview_page as overview_page
    from topoopt.verbs import page_of as page_of
    from topoopt.verbs import page_text as page_text
    from topoopt.verbs import phases as phases
    from topoopt.verbs import plan as plan
    from topoopt.verbs import plan_to_mapping as plan_to_mapping
    from topoopt.verbs import profile as profile
    from topoopt.verbs import profile_subject as profile_subject
    from topoopt.verbs import read_plan as read_plan
    from topoopt.verbs import report as report
    from topoopt.verbs import reproduce as reproduce
    from topoopt.verbs import reproducible as reproducible
    from topoopt.verbs import results as results
    from topoopt.verbs import results_chart as results_chart
    from topoopt.verbs import rewire as rewire
    from topoopt.verbs import rl as rl
    from topoopt.verbs import rl_runs as rl_runs
    from topoopt.verbs import serving as serving
    from topoopt.verbs import serving_plan as serving_plan
    from topoopt.verbs import serving_runs as serving_runs
    from topoopt.verbs import simulate as simulate
    from topoopt.verbs import studio as studio
    from topoopt.verbs import studio_answer as studio_answer
    from topoopt.verbs import sweep as sweep
    from topoopt.verbs import testbed as testbed
    from topoopt.verbs import topology as topology
    from topoopt.verbs import topology_chart as topology_chart
    from topoopt.verbs import traffic as traffic
    from topoopt.verbs import traffic_from_matrix as traffic_from_matrix
    from topoopt.verbs import verify as verify
    from topoopt.verbs import write_chart as write_chart
    from topoopt.verbs import write_cluster_result as write_cluster_result
    from topoopt.verbs import write_figures_page as write_figures_page
    from topoopt.verbs import write_plan as write_plan
    from topoopt.verbs import write_profile as write_profile
    from topoopt.verbs import write_serving_calibration as write_serving_calibration
    from topoopt.verbs import write_wiring as write_wiring

__all__ = ("__version__", *hand_on_lazily(__name__))  # noqa: PLE0604 - the names above
