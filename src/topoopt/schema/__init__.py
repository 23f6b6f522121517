"""Words and files that people write: name, type, default and text of each; reading and writing."""
