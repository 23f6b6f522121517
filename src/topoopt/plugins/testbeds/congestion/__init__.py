"""MLTCP as a congestion control of the Linux kernel: compiled here, registered for a while, told by maps."""
