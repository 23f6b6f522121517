"""What an accelerator holds, by cause."""
