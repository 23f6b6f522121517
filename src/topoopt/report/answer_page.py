"""The page of any answer: one table from the kind of answer to what describes it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from topoopt.cluster import ClusterResult
from topoopt.cost import CostComparison
from topoopt.failure import AvailabilityAnswer, FailureAnswer
from topoopt.finder import RingNetwork
from topoopt.hardware import HardwareTables
from topoopt.job import ModelList
from topoopt.llm import CalibrationFit, ConfigurationSearch, Estimate, PredictedRuns, RankTraffic
from topoopt.plan import Comparison, Plan
from topoopt.profile import ProfileRun, Subject
from topoopt.report.availability_page import availability_page
from topoopt.report.cluster_page import cluster_page
from topoopt.report.comparison_page import comparison_page
from topoopt.report.cost_page import cost_page
from topoopt.report.failure_page import failure_page
from topoopt.report.hardware_page import hardware_page
from topoopt.report.laid_traffic_page import laid_traffic_page
from topoopt.report.llm_calibrate_page import llm_calibrate_page
from topoopt.report.llm_estimate_page import llm_estimate_page
from topoopt.report.llm_runs_page import llm_runs_page
from topoopt.report.llm_search_page import llm_search_page
from topoopt.report.llm_traffic_page import llm_traffic_page
from topoopt.report.models_page import models_page
from topoopt.report.page import Page
from topoopt.report.plan_page import plan_page
from topoopt.report.profile_page import profile_page, subject_page
from topoopt.report.rewiring_page import rewiring_page
from topoopt.report.simulation_page import simulation_page
from topoopt.report.sweep_page import preview_page, results_page, sweep_page
from topoopt.report.topology_page import topology_page
from topoopt.report.written_report import WrittenReport, written_report_page
from topoopt.rewiring import RewiringAnswer
from topoopt.routing import LaidTraffic
from topoopt.simulate import Simulation
from topoopt.sweep import ResultsAnswer, SweepAnswer, SweepPreview

PAGES: Mapping[type, Callable[[Any], Page]] = MappingProxyType(
    {
        AvailabilityAnswer: availability_page,
        ClusterResult: cluster_page,
        Comparison: comparison_page,
        CostComparison: cost_page,
        FailureAnswer: failure_page,
        Plan: plan_page,
        ResultsAnswer: results_page,
        SweepAnswer: sweep_page,
        SweepPreview: preview_page,
        RewiringAnswer: rewiring_page,
        RingNetwork: topology_page,
        LaidTraffic: laid_traffic_page,
        Estimate: llm_estimate_page,
        PredictedRuns: llm_runs_page,
        ConfigurationSearch: llm_search_page,
        RankTraffic: llm_traffic_page,
        CalibrationFit: llm_calibrate_page,
        ProfileRun: profile_page,
        Subject: subject_page,
        Simulation: simulation_page,
        ModelList: models_page,
        HardwareTables: hardware_page,
        WrittenReport: written_report_page,
    }
)
"""Every kind of answer, and its page."""


def page_of(answer: Any) -> Page:
    """Return what an answer says: what a terminal shows of it, and a notebook. A page is itself.

    Raises
    ------
    TypeError
        If it is no answer of a verb.
    """
    if isinstance(answer, Page):
        return answer
    if type(answer) not in PAGES:
        raise TypeError(f"{type(answer).__name__}: not an answer of a verb")
    return PAGES[type(answer)](answer)
