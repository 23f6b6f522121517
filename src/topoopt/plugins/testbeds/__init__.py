"""A plan on real Linux: servers are network namespaces, training is real PyTorch, and both are measured."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the list of verbs needs none of it
    from topoopt.plugins.testbeds import testbed as testbed
    from topoopt.plugins.testbeds.congestion_control import MltcpJob as MltcpJob
    from topoopt.plugins.testbeds.emulated_fabrics import PAPER_CLUSTER as PAPER_CLUSTER
    from topoopt.plugins.testbeds.emulated_fabrics import emulated as emulated
    from topoopt.plugins.testbeds.emulated_fabrics import paper_fabric as paper_fabric
    from topoopt.plugins.testbeds.emulated_fabrics import plan_on_links as plan_on_links
    from topoopt.plugins.testbeds.network.capacity import capable_scale as capable_scale
    from topoopt.plugins.testbeds.sharing.processes import TestbedLink as TestbedLink
    from topoopt.plugins.testbeds.sharing.processes import sharing_job as sharing_job
    from topoopt.plugins.testbeds.sharing.share import ShareSettings as ShareSettings
    from topoopt.plugins.testbeds.sharing.share import bottleneck_scale as bottleneck_scale
    from topoopt.plugins.testbeds.sharing.share import share_link as share_link
    from topoopt.plugins.testbeds.sharing.shared_run import TestbedShare as TestbedShare
    from topoopt.plugins.testbeds.standing_testbeds import TestbedsAnswer as TestbedsAnswer
    from topoopt.plugins.testbeds.training.fabric_run import MEASURED_BESIDE as MEASURED_BESIDE
    from topoopt.plugins.testbeds.training.fabric_run import REFERENCE as REFERENCE
    from topoopt.plugins.testbeds.training.fabric_run import FabricRun as FabricRun
    from topoopt.plugins.testbeds.training.job import job_of_plan as job_of_plan
    from topoopt.plugins.testbeds.training.job import paper_plan as paper_plan
    from topoopt.plugins.testbeds.training.testbed_run import TestbedRun as TestbedRun
    from topoopt.plugins.testbeds.training.testbed_run import TrainingSettings as TrainingSettings
    from topoopt.plugins.testbeds.training.testbed_run import testbed_scale as testbed_scale
    from topoopt.plugins.testbeds.training.testbed_run import train_on_fabrics as train_on_fabrics

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
