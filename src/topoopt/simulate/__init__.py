"""From a task graph and a fabric to an iteration time, at several fidelities."""
