"""Memory of an accelerator, by cause."""
