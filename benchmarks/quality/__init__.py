"""Test losses of libraries at their own defaults, on real tables: `python -m benchmarks.quality`.

Reading order: tasks -> tables -> splits (which rows) -> libraries (one file each) -> losses -> cases (what to measure)
-> worker (a process that measures) -> runner -> records (a JSON-lines file) -> standings -> report, picture.
"""
