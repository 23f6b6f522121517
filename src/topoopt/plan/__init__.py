"""The answer as a noun, and as a file that every verb reads."""

from topoopt.plan.chosen_wiring import ChosenWiring as ChosenWiring
from topoopt.plan.comparison import COMPARISON_FORMAT as COMPARISON_FORMAT
from topoopt.plan.comparison import ComparedFabric as ComparedFabric
from topoopt.plan.comparison import Comparison as Comparison
from topoopt.plan.comparison import TaskDifference as TaskDifference
from topoopt.plan.comparison import compared_fabrics as compared_fabrics
from topoopt.plan.comparison import with_ownership as with_ownership
from topoopt.plan.comparison_file import comparison_from_mapping as comparison_from_mapping
from topoopt.plan.comparison_file import comparison_schema as comparison_schema
from topoopt.plan.direct import plan_wiring as plan_wiring
from topoopt.plan.file import plan_from_mapping as plan_from_mapping
from topoopt.plan.file import plan_schema as plan_schema
from topoopt.plan.file import plan_to_mapping as plan_to_mapping
from topoopt.plan.file import read_plan as read_plan
from topoopt.plan.file import write_plan as write_plan
from topoopt.plan.gradient_choice import GradientChoice as GradientChoice
from topoopt.plan.ownership import iterations_by_fabric as iterations_by_fabric
from topoopt.plan.plan import Baseline as Baseline
from topoopt.plan.plan import Bounds as Bounds
from topoopt.plan.plan import GapParts as GapParts
from topoopt.plan.plan import Outcome as Outcome
from topoopt.plan.plan import Plan as Plan
from topoopt.plan.plan import RoutingGap as RoutingGap
from topoopt.plan.plan import SearchRecord as SearchRecord
