"""The Markov chain over strategies: proposals, their time on a network, acceptance; compiled."""
