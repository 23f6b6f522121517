"""Queues in closed form: the closed loop of clients, and a pool of prompts that arrive by themselves."""
