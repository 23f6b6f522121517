"""The command line: one verb a file; it reads arguments, calls the library and prints."""

from topoopt.frontends.cli.entry import main as main
