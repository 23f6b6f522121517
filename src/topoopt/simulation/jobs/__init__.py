"""Jobs that are simulated: on which fabric, where, several at once, and the run itself."""
