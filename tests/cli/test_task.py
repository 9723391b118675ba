import numpy as np
import pytest

from sapwood.cli.errors import CommandError
from sapwood.cli.roles import Data, Roles
from sapwood.cli.task import infer


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b", "a"], dtype=object), "classification"),
        (np.array([True, False, True]), "classification"),
        (np.array([0, 1, 1]), "classification"),
        (np.array([-1.0, 1.0, 1.0]), "classification"),
        (np.array([1, 2, 3]), "classification"),
        (np.array([0.5, 1.0, 2.0]), "regression"),
        (np.array([3, 7, 9]), "regression"),
        (np.arange(40), "regression"),
        (np.eye(3), "classification"),
        (np.eye(3) + 0.5, "regression"),
    ],
)
def test_task_of_targets(y, task):
    assert infer(Data(np.zeros((3, 1)), y), Roles(), None).task == task


def test_task_of_roles():
    y = np.array([0.0, 1.0, 2.0])
    assert infer(Data(y[:, None], y, qid=y), Roles(), None).task == "ranking"
    assert infer(Data(y[:, None], y), Roles(event="e"), None).task == "survival"
    assert infer(Data(y[:, None], y), Roles(), "regression").task == "regression"
    with pytest.raises(CommandError, match="--target is missing"):
        infer(Data(y[:, None], None), Roles(), None)
