"""What fails, what that costs, and how a plan is repaired."""
