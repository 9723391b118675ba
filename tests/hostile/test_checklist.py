import re
from pathlib import Path

from tests.hostile import ELSEWHERE, LEFT_OUT, N_ITEMS

HERE = Path(__file__).parent


def test_no_number_is_forgotten():
    text = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    here = {int(number) for found in re.findall(r"@holds\(([\d, ]+)\)", text) for number in found.split(",")}
    assert here | set(ELSEWHERE) | set(LEFT_OUT) == set(range(1, N_ITEMS + 1))
    assert not (here | set(ELSEWHERE)) & set(LEFT_OUT)


def test_the_others_are_there():
    assert all((HERE.parents[1] / path).exists() for paths in ELSEWHERE.values() for path in paths)
