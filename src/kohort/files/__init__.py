"""Files on the disk: written whole or not at all, all outputs of a run together, and read back."""
