"""Published orderings of deployments and fabrics, beside what is computed here."""
