"""Traffic of a deployment between servers, its routes, and the time it takes on a network."""
