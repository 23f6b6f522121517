"""The papers' figures as code: rows, published values beside them, charts."""
