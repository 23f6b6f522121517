"""How long one step of a replica takes: what an accelerator has to do in it, the law, and the table of it."""
