import pytest

from sapwood.cli.errors import CommandError
from sapwood.cli.parameter_flags import ParameterFlags
from sapwood.cli.values import given_parameters, parse, read_toml, write_toml


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1", 0.1), ("20", 20), ("none", None), ("True", True), ("false", False), ("auto", "auto"), ("0.1,0.9", [0.1, 0.9]), ("a,b", "a,b"),
     ('["a", "b"]', ["a", "b"]), ('{"age": 1}', {"age": 1}), ("-999", -999)],
)  # fmt: skip
def test_values_of_flags(text, value):
    parsed = parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_flags_take_precedence_over_toml(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("learning_rate = 0.1\nmax-iter = 7\n")
    assert given_parameters(ParameterFlags(learning_rate="0.2"), path) == {"learning_rate": 0.2, "max_iter": 7}


def test_toml_round_trip(tmp_path):
    values = {"learning_rate": 1e-05, "max_depth": None, "extra_trees": True, "monotonic_cst": {'a "b"': 1}, "quantile": [0.1, 0.9]}
    path = tmp_path / "p.toml"
    path.write_text(write_toml(values))
    assert read_toml(path) == values


@pytest.mark.parametrize(
    ("text", "words"),
    [("a = ", "not a TOML file"), ("num_leaves = 3", "'num_leaves' is not a parameter"), ("parameters = 3", "must be a table")],
)
def test_bad_toml(text, words, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(CommandError, match=words):
        read_toml(path)
