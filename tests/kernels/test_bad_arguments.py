"""Arguments that could lead a kernel out of its arrays. They run in a process of their own: a crash there is a failure here."""

import json
import subprocess
import sys

import pytest

CASES = {
    "a leaf without a value": "kernels.add_leaf_values(np.full(16, 255, np.uint8), 4, np.zeros(1), np.zeros(4), 1)",
    "cuts that begin before the first": """
kernels.CutPoints(np.arange(2.0), np.array([-200, 0, 2]))
""",
    "a group of more than 64 features": """
ones, zeros = np.ones(200, np.int32), np.zeros(200, np.uint8)
layout = kernels.BinLayout(ones, zeros, ones, 200, 200)
partition = kernels.RowPartition(layout, [kernels.Page(layout, np.zeros(200 * 300, np.uint8), 300)], 1)
settings = kernels.TreeSettings(kernels.HistogramFormat(1, 20), kernels.SplitRules(), 0, 0)
kernels.SplitSearch(layout, 1, 1 << 20).start(partition, np.zeros(2400, np.uint8), settings)
""",
    "scoring with no threads": """
leaf = np.array([-1], np.int32)
nodes = {"feature": leaf, "threshold": np.zeros(1), "bin": leaf, "left": leaf, "right": leaf, "missing_left": np.zeros(1, np.uint8)}
trees, leaves = kernels.TreeArrays(begin=np.array([0, 1]), **nodes), kernels.LeafArrays(value=np.zeros(1))
scorer = kernels.Scorer(trees, leaves, 2, 1)
scorer.add(np.zeros((20, 2)), 0, 1, np.zeros((20, 1)), 0)
""",
    "more leaves than a byte can number": """
one = np.ones(1, np.int32)
layout = kernels.BinLayout(one, np.zeros(1, np.uint8), one, 1, 4)
partition = kernels.RowPartition(layout, [kernels.Page(layout, np.zeros(80, np.uint8), 20)], 1)
partition.start(np.zeros(160, np.uint8), kernels.HistogramFormat(1, 20), 0)
partition.leaf_sums(np.zeros(257, np.int64), np.zeros(20, np.uint8), 1)
""",
    "sides of a feature that does not exist": """
one = np.ones(1, np.int32)
kernels.RowPartition.sides(kernels.BinLayout(one, np.zeros(1, np.uint8), one, 1, 4), 1, 0, False)
""",
    "a link that does not exist": "kernels.apply_link('probit', np.zeros((2, 1)), 1)",
    "probabilities of two classes for other rows": "kernels.fill_two_classes(np.zeros((3, 1)), np.zeros((2, 2)), 1)",
    "two probabilities of the second class": "kernels.fill_two_classes(np.zeros((2, 2)), np.zeros((2, 2)), 1)",
    "a softmax of no classes": """
target = kernels.GradientTarget(1.0, 1.0, np.zeros((0, 32), np.uint8))
kernels.softmax_fixed_gradients(kernels.LossRows(np.zeros(4), np.zeros((0, 4)), None), target, 0, 4, 1)
""",
    "records of one dimension where each class has its own": """
target = kernels.GradientTarget(1.0, 1.0, np.zeros(64, np.uint8))
kernels.softmax_fixed_gradients(kernels.LossRows(np.zeros(4), np.zeros((2, 4)), None), target, 0, 4, 1)
""",
    "records of two dimensions for one output": """
rows = kernels.LossRows(np.zeros(4), np.zeros(4), None)
kernels.loss_fixed_gradients(kernels.Loss(0), rows, kernels.GradientTarget(1.0, 1.0, np.zeros((1, 32), np.uint8)), 1)
""",
    "queries that do not cover the rows": "kernels.RankedRows(np.ones(4), np.zeros(4), None, np.array([0, 5]), np.ones(1))",
    "gradients of other rows": """
rows = kernels.RankedRows(np.ones(4), np.zeros(4), None, np.array([0, 4]), np.ones(1))
kernels.listwise_gradients(rows, np.zeros(3), np.zeros(4), 1)
""",
    "a page with fewer rows than the table": """
flags, cuts = np.zeros(8, np.uint8), kernels.CutPoints(np.empty(0), np.zeros(9, np.int64))
kernels.bin_table(np.ones((400, 8)), cuts, kernels.PageBuffer(np.zeros((1, 8, 8), np.uint8), 8, flags, flags), 0, 0, 1)
""",
    "a row of the page whose place overflows": """
flags, cuts = np.zeros(8, np.uint8), kernels.CutPoints(np.empty(0), np.zeros(9, np.int64))
page = kernels.PageBuffer(np.zeros((1, 8, 8), np.uint8), 8, flags, flags)
kernels.bin_table(np.ones((4, 8)), cuts, page, (1 << 63) - 2, 0, 1)
""",
}

CHILD = """
import json, sys
import numpy as np
from sapwood.runtime import kernels
for code in json.load(sys.stdin):
    try:
        exec(code, {"np": np, "kernels": kernels})
        print("accepted", flush=True)
    except ValueError:
        print("refused", flush=True)
"""


@pytest.fixture(scope="module")
def verdicts():
    """What became of each case: refused, accepted or crashed."""
    found = []
    while len(found) < len(CASES):
        rest = list(CASES.values())[len(found) :]
        done = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps(rest), capture_output=True, text=True, check=False)
        found += done.stdout.split()
        if done.returncode:
            found = [*found[: len(CASES) - 1], f"crashed with {done.returncode}: {done.stderr}"]
    return dict(zip(CASES, found, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_are_refused(case, verdicts):
    assert verdicts[case] == "refused"
