"""Search for deployments given requests and objectives: screened in closed form, simulated, ranked by goodput."""
