"""Task graphs of operators, and task graphs whose collectives are played by their schedules."""
