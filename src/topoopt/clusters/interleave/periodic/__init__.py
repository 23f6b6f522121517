"""Jobs that repeat their profiles on shared links, iteration after iteration: as fluids, and packet by packet."""
