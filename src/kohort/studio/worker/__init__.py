"""What the studio computes, in a process of its own: the only part of it that touches data.

A worker reads questions from stdin and writes answers to stdout, both as JSON lines; see `__main__`.
"""
