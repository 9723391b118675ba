"""The tests of other folders that hold numbers of the checklist: `pytest tests/hostile $(python -m tests.hostile)`."""

from tests.hostile import ELSEWHERE

print(*sorted({path for paths in ELSEWHERE.values() for path in paths}))
