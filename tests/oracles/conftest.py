"""What the comparisons with other people's programs share."""

collect_ignore = [
    "simgrid_flows.py",
    "ns3_scenarios.py",
]  # they run under another Python, in processes of their own
