"""The version of this program, which every result names."""

__version__ = "0.1.0"
