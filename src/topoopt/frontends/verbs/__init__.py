"""Verbs as functions, named like the commands; and building blocks for verbs of plug-ins."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # a verb needs no other
    from topoopt.frontends.verbs import cluster as cluster
    from topoopt.frontends.verbs import llm as llm
    from topoopt.frontends.verbs import mltcp as mltcp
    from topoopt.frontends.verbs.catalog import hardware as hardware
    from topoopt.frontends.verbs.catalog import models as models
    from topoopt.frontends.verbs.choose import choose as choose
    from topoopt.frontends.verbs.cost import cost as cost
    from topoopt.frontends.verbs.doctor import doctor as doctor
    from topoopt.frontends.verbs.fail import fail as fail
    from topoopt.frontends.verbs.input_sources import InventorySource as InventorySource
    from topoopt.frontends.verbs.input_sources import JoinedSource as JoinedSource
    from topoopt.frontends.verbs.input_sources import PlanSource as PlanSource
    from topoopt.frontends.verbs.input_sources import inventory_of as inventory_of
    from topoopt.frontends.verbs.input_sources import joined_and_name as joined_and_name
    from topoopt.frontends.verbs.input_sources import plan_and_name as plan_and_name
    from topoopt.frontends.verbs.interleave import interleave as interleave
    from topoopt.frontends.verbs.interleave import phases as phases
    from topoopt.frontends.verbs.job_request import NamedSource as NamedSource
    from topoopt.frontends.verbs.job_request import job_request as job_request
    from topoopt.frontends.verbs.plan import compare as compare
    from topoopt.frontends.verbs.plan import plan as plan
    from topoopt.frontends.verbs.plan import traffic as traffic
    from topoopt.frontends.verbs.post_training import finetune as finetune
    from topoopt.frontends.verbs.post_training import rl as rl
    from topoopt.frontends.verbs.post_training import rl_runs as rl_runs
    from topoopt.frontends.verbs.profile_source import ProfileSource as ProfileSource
    from topoopt.frontends.verbs.profile_source import profile_of_source as profile_of_source
    from topoopt.frontends.verbs.report import report as report
    from topoopt.frontends.verbs.rewire import rewire as rewire
    from topoopt.frontends.verbs.serving import calibrate_serving as calibrate_serving
    from topoopt.frontends.verbs.serving import serving as serving
    from topoopt.frontends.verbs.serving import serving_plan as serving_plan
    from topoopt.frontends.verbs.serving import serving_runs as serving_runs
    from topoopt.frontends.verbs.simulate import simulate as simulate
    from topoopt.frontends.verbs.studio import studio as studio
    from topoopt.frontends.verbs.studio import studio_answer as studio_answer
    from topoopt.frontends.verbs.sweep import results as results
    from topoopt.frontends.verbs.sweep import results_chart as results_chart
    from topoopt.frontends.verbs.sweep import sweep as sweep
    from topoopt.frontends.verbs.topology import collective as collective
    from topoopt.frontends.verbs.topology import topology as topology
    from topoopt.frontends.verbs.topology import write_wiring as write_wiring
    from topoopt.frontends.verbs.verify import verify as verify

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
