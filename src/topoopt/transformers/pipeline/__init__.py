"""From a configuration to a pipelined step."""
