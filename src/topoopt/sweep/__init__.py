"""Many plans, stored as they are found, resumable, on processes or on Ray."""
