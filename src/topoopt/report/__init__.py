"""Results as charts, and as one HTML page that needs no network."""
