"""The flow simulator on circuits that change over time."""
