"""Comparison of Sapwood with other libraries: `python -m benchmarks`.

Reading order: workloads (higgs, images, tables) -> libraries -> plan -> the sections fitting, prediction, busy, memory
and accuracy, each with its `measure` and its `report` -> results (measured numbers), targets, report.
"""
