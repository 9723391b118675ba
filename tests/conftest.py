"""What all tests share."""

from hypothesis import settings

# The same examples every time. To look for new ones: pytest --hypothesis-profile=search
settings.register_profile("sapwood", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("sapwood")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests of tests/hostile, too")
