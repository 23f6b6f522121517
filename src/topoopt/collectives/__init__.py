"""How a collective is run as steps of flows, and its closed-form time."""
