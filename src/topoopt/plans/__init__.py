"""The answer as a noun, and as a file that every verb reads."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.plans.comparison import COMPARISON_FORMAT as COMPARISON_FORMAT
    from topoopt.plans.comparison import ComparedFabric as ComparedFabric
    from topoopt.plans.comparison import Comparison as Comparison
    from topoopt.plans.comparison import TaskDifference as TaskDifference
    from topoopt.plans.comparison import compared_fabrics as compared_fabrics
    from topoopt.plans.comparison import comparison_from_mapping as comparison_from_mapping
    from topoopt.plans.comparison import front_of_fabrics as front_of_fabrics
    from topoopt.plans.comparison import iterations_by_fabric as iterations_by_fabric
    from topoopt.plans.comparison import recommended as recommended
    from topoopt.plans.comparison import standings_of as standings_of
    from topoopt.plans.comparison import with_ownership as with_ownership
    from topoopt.plans.plan import Baseline as Baseline
    from topoopt.plans.plan import Bounds as Bounds
    from topoopt.plans.plan import ChosenWiring as ChosenWiring
    from topoopt.plans.plan import GapParts as GapParts
    from topoopt.plans.plan import GradientChoice as GradientChoice
    from topoopt.plans.plan import Outcome as Outcome
    from topoopt.plans.plan import Plan as Plan
    from topoopt.plans.plan import RoutingGap as RoutingGap
    from topoopt.plans.plan import SearchRecord as SearchRecord
    from topoopt.plans.plan import ServedFigures as ServedFigures
    from topoopt.plans.plan import ServedOnFabric as ServedOnFabric
    from topoopt.plans.plan_file import plan_from_mapping as plan_from_mapping
    from topoopt.plans.plan_file import plan_to_mapping as plan_to_mapping
    from topoopt.plans.plan_file import read_plan as read_plan
    from topoopt.plans.plan_file import write_plan as write_plan
    from topoopt.plans.plan_wiring import plan_wiring as plan_wiring
    from topoopt.plans.verdict import SURE as SURE
    from topoopt.plans.verdict import Standing as Standing
    from topoopt.plans.verdict import as_good_for_no_more as as_good_for_no_more
    from topoopt.plans.verdict import dominates as dominates
    from topoopt.plans.verdict import dominators as dominators
    from topoopt.plans.verdict import faster_share as faster_share
    from topoopt.plans.verdict import front as front
    from topoopt.plans.verdict import standings as standings
    from topoopt.plans.verdict import unbeaten as unbeaten

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
