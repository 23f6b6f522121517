"""``topoopt simulate``: its flags, its files, and the verb."""

from topoopt.cli.simulate.verb import COLLECTIVES_HELP as COLLECTIVES_HELP
from topoopt.cli.simulate.verb import COLLECTIVES_METAVAR as COLLECTIVES_METAVAR
from topoopt.cli.simulate.verb import SIMULATOR_HELP as SIMULATOR_HELP
from topoopt.cli.simulate.verb import simulate as simulate
