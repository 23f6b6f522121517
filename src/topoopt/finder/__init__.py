"""Finding the topology: TotientPerms, SelectPermutations, matching, TopologyFinder."""
