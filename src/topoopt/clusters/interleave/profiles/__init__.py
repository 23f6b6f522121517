"""Communication profiles: as a file, from a simulation, and from measured counters."""
