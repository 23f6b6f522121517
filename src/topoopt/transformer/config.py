"""Read the ``config.json`` of a transformer, as Hugging Face writes it."""
