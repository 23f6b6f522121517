"""Who sends what to whom in one iteration, by ranks and by servers."""
