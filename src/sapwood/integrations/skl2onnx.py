"""skl2onnx: converters of the estimators, registered when this module is imported.

Use `to_onnx` of this module: skl2onnx refuses version 5 of the operators ai.onnx.ml, whose TreeEnsemble computes in double precision, and
declares a lower one.
"""

from __future__ import annotations

import contextvars
from typing import Any

import onnx
import skl2onnx
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.base import is_classifier

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.model.export.onnx import IR_VERSION, ML_OPSET, OPSET

ML = "ai.onnx.ml"
CONVERTING: contextvars.ContextVar[bool] = contextvars.ContextVar("CONVERTING", default=False)  # whether `to_onnx` is running

__all__ = ["register", "to_onnx"]


def to_onnx(model: Any, X: Any = None, **kwargs: Any) -> onnx.ModelProto:
    """Convert a scikit-learn pipeline or ensemble with Sapwood estimators to ONNX.

    Parameters
    ----------
    model : fitted pipeline, or another estimator that skl2onnx converts
    X : array or frame, optional
        Some rows, for the types of the inputs.
    **kwargs
        Arguments of `skl2onnx.to_onnx`, such as `initial_types` and `options`. By default probabilities are a matrix
        (`options={"zipmap": False}`).

    Returns
    -------
    onnx.ModelProto
        Predictions are computed in double precision; they are float32 in the outputs if the inputs are.
    """
    defaults: dict[str, Any] = {"target_opset": OPSET, "options": {"zipmap": False} if is_classifier(model) else None}
    token = CONVERTING.set(True)
    try:
        converted = skl2onnx.to_onnx(model, X, **(defaults | kwargs))
    finally:
        CONVERTING.reset(token)
    for opset in converted.opset_import:
        if opset.domain == ML:
            opset.version = ML_OPSET
    converted.ir_version = max(converted.ir_version, IR_VERSION)
    onnx.checker.check_model(converted)
    return converted


def register() -> None:
    """Register the converters. Importing this module does it."""
    for kind in (BoostingClassifier, BoostingRegressor, BoostingRanker):
        options = {"zipmap": [True, False, "columns"], "nocl": [True, False]} if kind is BoostingClassifier else {}
        update_registered_converter(kind, f"Sapwood{kind.__name__}", _shapes, _convert, options=options)


def _shapes(operator: Any) -> None:
    """Set the types of the outputs."""
    model, n_rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    real = DoubleTensorType if isinstance(operator.inputs[0].type, DoubleTensorType) else FloatTensorType
    if isinstance(model, BoostingClassifier):
        label = StringTensorType if model.classes_.dtype.kind in "OUS" else Int64TensorType
        operator.outputs[0].type = label([n_rows])
        operator.outputs[1].type = real([n_rows, len(model.classes_)])
    else:
        operator.outputs[0].type = real([n_rows, model.model_.n_outputs])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the exported model to the graph."""
    if not CONVERTING.get():
        raise RuntimeError("convert with sapwood.integrations.skl2onnx.to_onnx: skl2onnx alone declares operators that are too old")
    exported = operator.raw_operator.export("onnx").graph
    names = dict(zip([one.name for one in exported.input], _inputs(scope, operator, container, exported), strict=True))
    results = []
    for value, output in zip(exported.output, operator.outputs, strict=True):
        names[value.name] = scope.get_unique_variable_name(value.name)
        results.append((names[value.name], output))
    for tensor in exported.initializer:
        names[tensor.name] = scope.get_unique_variable_name("sapwood_constant")
        copy = onnx.TensorProto()
        copy.CopyFrom(tensor)
        copy.name = names[tensor.name]
        container.initializers.append(copy)
    for node in exported.node:
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        for edges in (copied.input, copied.output):
            for place, name in enumerate(edges):
                edges[place] = names.setdefault(name, scope.get_unique_variable_name("sapwood"))
        copied.name = scope.get_unique_operator_name(node.op_type)
        container.nodes.append(copied)
        container.node_domain_version_pair_sets.add((node.domain, OPSET if node.domain == "" else 1))  # `to_onnx` sets the version
    for name, output in results:
        kind = onnx.TensorProto.FLOAT if isinstance(output.type, FloatTensorType) else None
        if kind is None:
            _node(scope, container, "Identity", [name], [output.full_name])
        else:
            _node(scope, container, "Cast", [name], [output.full_name], to=kind)


def _inputs(scope: Any, operator: Any, container: Any, exported: Any) -> list[str]:
    """Return the names of the inputs of the exported graph: the columns one by one, or one matrix of doubles."""
    given = []
    for variable in operator.inputs:
        if isinstance(variable.type, DoubleTensorType | StringTensorType):
            given.append(variable.full_name)
        else:
            name = scope.get_unique_variable_name("sapwood_double")
            _node(scope, container, "Cast", [variable.full_name], [name], to=onnx.TensorProto.DOUBLE)
            given.append(name)
    if len(exported.input) == len(given):
        return given
    if len(exported.input) == 1:
        name = scope.get_unique_variable_name("sapwood_table")
        _node(scope, container, "Concat", given, [name], axis=1)
        return [name]
    raise RuntimeError(
        f"the model has {len(exported.input)} columns, some of them strings, but {len(given)} inputs: give each column as an input of its "
        "own, of shape (None, 1)"
    )


def _node(scope: Any, container: Any, operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
    container.add_node(operator, inputs, outputs, op_version=13, name=scope.get_unique_operator_name(operator), **attributes)


register()
