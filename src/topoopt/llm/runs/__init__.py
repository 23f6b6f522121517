"""Tables of measured runs: their columns, models, memory and predictions."""
