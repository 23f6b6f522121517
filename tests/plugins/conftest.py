"""Commands of plug-ins run as all others do."""

from tests.frontends.cli.conftest import plan_file as plan_file  # noqa: PLC0414 - a fixture
from tests.frontends.cli.conftest import plan_text as plan_text  # noqa: PLC0414
from tests.frontends.cli.conftest import topoopt as topoopt  # noqa: PLC0414
from tests.frontends.verbs.conftest import printed as printed  # noqa: PLC0414
