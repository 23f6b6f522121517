"""The flow simulator on regional circuits, which follow one all-to-all after another."""
