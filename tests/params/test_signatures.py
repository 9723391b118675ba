"""Constructors and fit methods: generated from the tables, and readable for tools."""

import importlib.util
import inspect
import pickle
import sys
from pathlib import Path

import jedi
import pytest
from sklearn.base import clone

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.params import signatures
from sapwood.params.arguments import INTRODUCTIONS, arguments
from sapwood.params.table import TABLES

ROOT = Path(__file__).parent.parent.parent
ESTIMATORS = {"Regressor": BoostingRegressor, "Classifier": BoostingClassifier, "Ranker": BoostingRanker}
each = pytest.mark.parametrize("name", ESTIMATORS)


def test_the_module_is_what_the_tables_generate():
    spec = importlib.util.spec_from_file_location("generate_signatures", ROOT / "tools/generate_signatures.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert Path(signatures.__file__).read_text(encoding="utf-8") == generator.generate(), "run `make format`"


@each
def test_signature_and_attributes(name):
    estimator, table = ESTIMATORS[name], TABLES[name]
    parameters = inspect.signature(estimator).parameters
    assert {key: parameter.default for key, parameter in parameters.items()} == {key: row.default for key, row in table.items()}
    assert list(parameters) == list(table)
    kinds = [parameter.kind for parameter in parameters.values()]
    assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [inspect.Parameter.KEYWORD_ONLY] * (len(table) - 1)
    assert vars(estimator()) == {key: row.default for key, row in table.items()}
    values = {key: object() for key in table}
    assert vars(estimator(**values)) == values


@each
def test_the_docstring_has_every_parameter(name):
    for key, row in TABLES[name].items():
        lines = [line.strip() for line in ESTIMATORS[name].__doc__.splitlines()]
        assert any(line.startswith(f"{key} : ") and line.endswith(f", default={row.default!r}") for line in lines), key


@each
@pytest.mark.parametrize("method", INTRODUCTIONS)
def test_fit_methods_have_every_argument(name, method):
    function = getattr(ESTIMATORS[name], method)
    assert list(inspect.signature(function).parameters) == ["self", *(one.name for one in arguments(method, name))]
    for one in arguments(method, name):
        assert f"\n        {one.name} : " in function.__doc__


def test_completions_list_every_parameter(monkeypatch, tmp_path):
    monkeypatch.setattr(jedi.settings, "cache_directory", tmp_path)  # two test processes must not write to one cache of parsed modules
    # Without the environment's import hooks of editable installs, which jedi cannot follow.
    environment = jedi.create_environment(sys._base_executable, safe=False)
    project = jedi.Project(ROOT, sys_path=[str(ROOT / "src"), *sys.path])
    for name in TABLES:
        script = jedi.Script(f"from sapwood import Boosting{name}\nBoosting{name}(", project=project, environment=environment)
        assert {completion.name for completion in script.complete()} >= {f"{key}=" for key in TABLES[name]}
        (signature,) = script.get_signatures()
        assert [parameter.name for parameter in signature.params] == list(TABLES[name])


class TestSubclass:
    class WithoutConstructor(BoostingRegressor):
        """Inherits the constructor."""

    class WithConstructor(BoostingRegressor):
        """Has a constructor of its own."""

        def __init__(self, rate=0.2, *, depth=3):
            super().__init__(learning_rate=rate, max_depth=depth, max_iter=3)
            self.rate, self.depth = rate, depth

    def test_inherited(self):
        estimator = clone(self.WithoutConstructor("poisson", max_iter=3))
        assert (estimator.loss, estimator.max_iter) == ("poisson", 3)
        assert estimator.get_params() == BoostingRegressor("poisson", max_iter=3).get_params()

    def test_own(self):
        estimator = clone(self.WithConstructor(0.5))
        assert estimator.get_params() == {"rate": 0.5, "depth": 3}
        assert estimator.learning_rate == 0.5
        assert estimator.fit([[0], [1]], [0, 1]).n_iter_ == 3

    def test_unknown_names(self):
        with pytest.raises(TypeError, match="WithoutConstructor has no parameter 'lerning_rate'; did you mean 'learning_rate'"):
            self.WithoutConstructor(lerning_rate=1)
        with pytest.raises(TypeError, match="WithConstructor has no parameter 'dept'"):
            self.WithConstructor(dept=1)


@each
def test_pickles(name):
    estimator = ESTIMATORS[name](max_iter=7)
    assert pickle.loads(pickle.dumps(estimator)).get_params() == estimator.get_params()
