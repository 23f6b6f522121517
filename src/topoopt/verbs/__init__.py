"""What one can ask, as functions: one a verb, called like the command; ``import topoopt`` hands them on."""

from typing import TYPE_CHECKING

from topoopt.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # a verb needs no other
    from topoopt.cluster import ClusterResult as ClusterResult
    from topoopt.cluster import write_cluster_result as write_cluster_result
    from topoopt.cost import CostComparison as CostComparison
    from topoopt.errors import Infeasible as Infeasible
    from topoopt.errors import InvalidInput as InvalidInput
    from topoopt.errors import NoRoute as NoRoute
    from topoopt.errors import TopoOptError as TopoOptError
    from topoopt.export import ExportAnswer as ExportAnswer
    from topoopt.export import ExportFormats as ExportFormats
    from topoopt.failure import AvailabilityAnswer as AvailabilityAnswer
    from topoopt.failure import FailureAnswer as FailureAnswer
    from topoopt.finder import RingNetwork as RingNetwork
    from topoopt.frontier import CollectiveAnswer as CollectiveAnswer
    from topoopt.hardware import ClusterSpec as ClusterSpec
    from topoopt.hardware import HardwareTables as HardwareTables
    from topoopt.interleave import SharingComparison as SharingComparison
    from topoopt.inventory import Inventory as Inventory
    from topoopt.inventory import RewiringAnswer as RewiringAnswer
    from topoopt.job import ModelList as ModelList
    from topoopt.plan import Comparison as Comparison
    from topoopt.plan import Plan as Plan
    from topoopt.plan import plan_to_mapping as plan_to_mapping
    from topoopt.plan import read_plan as read_plan
    from topoopt.plan import write_plan as write_plan
    from topoopt.report import FORMATS as FORMATS
    from topoopt.report import Page as Page
    from topoopt.report import Section as Section
    from topoopt.report import Table as Table
    from topoopt.report import WrittenReport as WrittenReport
    from topoopt.report import check_chart_file as check_chart_file
    from topoopt.report import cost_page as cost_page
    from topoopt.report import draw_charts as draw_charts
    from topoopt.report import draw_page as draw_page
    from topoopt.report import notebook_html as notebook_html
    from topoopt.report import page_of as page_of
    from topoopt.report import page_text as page_text
    from topoopt.report import topology_chart as topology_chart
    from topoopt.report import write_chart as write_chart
    from topoopt.reproduction import Figure as Figure
    from topoopt.reproduction import figure_page as figure_page
    from topoopt.reproduction import overview_page as overview_page
    from topoopt.reproduction import write_figures_page as write_figures_page
    from topoopt.routing import LaidTraffic as LaidTraffic
    from topoopt.simulate import Simulation as Simulation
    from topoopt.sweep import ResultsAnswer as ResultsAnswer
    from topoopt.sweep import SweepAnswer as SweepAnswer
    from topoopt.sweep import SweepPreview as SweepPreview
    from topoopt.testbed import TestbedRun as TestbedRun
    from topoopt.testbed import TestbedsAnswer as TestbedsAnswer
    from topoopt.traffic import Traffic as Traffic
    from topoopt.traffic import traffic_from_matrix as traffic_from_matrix
    from topoopt.transformer import TransformerModel as TransformerModel
    from topoopt.verbs import cluster as cluster
    from topoopt.verbs import llm as llm
    from topoopt.verbs import mltcp as mltcp
    from topoopt.verbs import testbed as testbed
    from topoopt.verbs.collective import collective as collective
    from topoopt.verbs.compare import compare as compare
    from topoopt.verbs.cost import cost as cost
    from topoopt.verbs.export import export as export
    from topoopt.verbs.export import export_formats as export_formats
    from topoopt.verbs.fail import fail as fail
    from topoopt.verbs.hardware import hardware as hardware
    from topoopt.verbs.job_request import job_request as job_request
    from topoopt.verbs.models import models as models
    from topoopt.verbs.plan import plan as plan
    from topoopt.verbs.plan import plan_from_file as plan_from_file
    from topoopt.verbs.plan import plan_without_baselines as plan_without_baselines
    from topoopt.verbs.profile import profile as profile
    from topoopt.verbs.profile import profile_subject as profile_subject
    from topoopt.verbs.report import report as report
    from topoopt.verbs.reproduce import reproduce as reproduce
    from topoopt.verbs.reproduce import reproducible as reproducible
    from topoopt.verbs.results import results as results
    from topoopt.verbs.results import results_chart as results_chart
    from topoopt.verbs.rewire import rewire as rewire
    from topoopt.verbs.search_options import search_options as search_options
    from topoopt.verbs.simulate import simulate as simulate
    from topoopt.verbs.sweep import sweep as sweep
    from topoopt.verbs.topology import topology as topology
    from topoopt.verbs.topology import write_wiring as write_wiring
    from topoopt.verbs.traffic import traffic as traffic
    from topoopt.verbs.verify import verify as verify
    from topoopt.verification import VerificationAnswer as VerificationAnswer
    from topoopt.wirings import WiringAnswer as WiringAnswer
    from topoopt.workload import Operator as Operator
    from topoopt.workload import OperatorGraph as OperatorGraph
    from topoopt.workload import Weight as Weight

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
