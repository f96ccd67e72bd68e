"""The road of every release: prepare, choose, solve, publish, verify, write. One file for each step."""
