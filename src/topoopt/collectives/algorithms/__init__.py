"""Collective algorithms, one per file: a file ``NAME.py`` declares ``ALGORITHM``, and every verb offers it as NAME."""
