"""A checklist of hostile input, faults and misuse, by number. `make hostile` runs all of it, `make test` what is fast.

A test is marked with the numbers that it holds: `@holds(12, 13)`. ELSEWHERE names tests of other folders that hold a number, and LEFT_OUT
the numbers that are not tested here, with the reason. `test_checklist.py` checks that no number is forgotten.
"""

import pytest

N_ITEMS = 71
LEFT_OUT = {
    36: "workers of a cluster; partitions of one process are in tests/test_partitions.py",
    56: "workers of a cluster",
    57: "workers of a cluster",
    58: "workers of a cluster",
    71: "free-threaded Python: `make edges PYTHON=...` with such an interpreter",
}
ELSEWHERE = {
    27: ["tests/estimators/test_estimator_checks.py", "tests/uncertainty/test_estimator_checks.py"],
    28: ["tests/estimators/test_estimators.py"],
    34: ["tests/test_determinism.py"],
    35: ["tests/test_determinism.py", "tests/data/test_pages.py"],
    37: ["tests/test_determinism.py"],
    38: ["tests/test_determinism.py"],
    40: ["tests/training/test_checkpoint.py"],
    43: ["tests/estimators/test_concurrency.py"],
    44: ["tests/estimators/test_concurrency.py"],
    45: ["tests/estimators/test_concurrency.py"],
    46: ["tests/cli/commands/test_train.py"],
    47: ["tests/estimators/test_concurrency.py"],
    48: ["tests/estimators/test_concurrency.py"],
    51: ["tests/estimators/test_saving.py", "tests/model/test_disk.py"],
    52: ["tests/model/test_kill.py"],
    53: ["tests/training/test_checkpoint.py"],
    54: ["tests/training/test_checkpoint.py"],
    60: ["tests/model/test_mutations.py"],
    61: ["tests/model/test_file.py"],
    64: ["tests/model/test_golden.py"],
    65: ["tests/model/export"],
    69: ["tests/cli/test_main.py", "tests/cli/commands/test_train.py"],
    70: ["tests/estimators/test_concurrency.py"],
}


def holds(*numbers):
    """Mark a test with the numbers of the checklist that it holds."""
    return pytest.mark.holds(*numbers)


slow = pytest.mark.slow
