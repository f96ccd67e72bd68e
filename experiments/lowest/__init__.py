"""How little can be lost: every algorithm's loss beside a proven bound, and loss against time."""
