"""Reinforcement learning after pre-training: rollout, training, and weights brought from one to the other."""
