"""Importers: operators, traffic matrices and profiles from the user's files."""
