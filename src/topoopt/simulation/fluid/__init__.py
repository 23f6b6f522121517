"""One engine for all that shares links max-min fairly: flows, circuits that change, jobs back to back."""
