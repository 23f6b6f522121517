"""topoopt: which network, and which way of splitting the model, trains a job fastest for the money?"""

__version__ = "0.1.0"
