"""What one can ask, as functions: one a verb, called like the command; ``import topoopt`` hands them on."""

from topoopt.cost import CostComparison as CostComparison
from topoopt.errors import Infeasible as Infeasible
from topoopt.errors import InvalidInput as InvalidInput
from topoopt.errors import NoRoute as NoRoute
from topoopt.errors import TopoOptError as TopoOptError
from topoopt.hardware import ClusterSpec as ClusterSpec
from topoopt.plan import Comparison as Comparison
from topoopt.plan import Plan as Plan
from topoopt.plan import plan_to_mapping as plan_to_mapping
from topoopt.plan import read_plan as read_plan
from topoopt.plan import write_plan as write_plan
from topoopt.report import Page as Page
from topoopt.report import cost_page as cost_page
from topoopt.report import draw_page as draw_page
from topoopt.report import notebook_html as notebook_html
from topoopt.report import page_of as page_of
from topoopt.report import page_text as page_text
from topoopt.verbs.compare import compare as compare
from topoopt.verbs.cost import cost as cost
from topoopt.verbs.plan import plan as plan
from topoopt.verbs.plan import plan_from_file as plan_from_file
from topoopt.verbs.plan import plan_without_baselines as plan_without_baselines
from topoopt.verbs.words import job_request as job_request
from topoopt.verbs.words import search_options as search_options
