"""Many jobs over time, on shards of one machine room or sharing one fabric."""
