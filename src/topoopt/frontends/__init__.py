"""The doors: Python verbs, the command line, and the live page over HTTP."""
