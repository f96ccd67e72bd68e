"""The job on a cluster: the same four steps, each where the records are."""
