"""Step time of a replica: the work of an accelerator, the model, and its table."""
