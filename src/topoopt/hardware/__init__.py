"""What can be bought: the catalogue of accelerators, NICs, optics and switches, and the cluster specification."""
