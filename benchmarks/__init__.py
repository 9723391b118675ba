"""Sapwood beside its peers, in one run: `python -m benchmarks`.

Reading order: workloads (higgs, images, tables) -> libraries -> plan -> the sections fitting, prediction, busy, memory
and accuracy, each with its `measure` and its `report` -> results (what was measured), targets (what was asked), report.
"""
