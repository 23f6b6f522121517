"""The zoo: published models as operator graphs with exact bytes and operations."""
