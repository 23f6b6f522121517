"""Measured runs of served models: tables of them, what the law predicts, and how far it is off."""
