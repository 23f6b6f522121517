"""From requests and objectives to deployments: screened in closed form, simulated, ranked by goodput."""
