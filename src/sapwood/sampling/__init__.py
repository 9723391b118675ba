"""Sampling of rows: the rows of a tree, and the rows held out for early stopping. Random numbers are hashes of row ids."""
