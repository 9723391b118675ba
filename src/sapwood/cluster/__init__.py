"""Fits on the workers of a cluster: collectives over messages, placement of rows, restarts."""
