"""Communication of one iteration, between ranks and between servers."""
