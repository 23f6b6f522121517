"""How tokens spread over experts: even, skewed, from a file, over iterations, predicted."""
