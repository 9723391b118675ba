"""Translation of parameters of other libraries."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import Any

from sapwood.params.foreign import LIBRARIES

ALIASES = {"scikit-learn": "sklearn", "xgb": "xgboost", "lgb": "lightgbm", "lgbm": "lightgbm"}


def params_from(library: str, params: Mapping[str, Any], *, defaults: bool = True) -> dict[str, Any]:
    """Translate the parameters of another library to those of Sapwood.

    Parameters
    ----------
    library : {'xgboost', 'lightgbm', 'catboost', 'sklearn'}
        Library that the parameters belong to.
    params : dict
        Parameters by name, such as the result of `get_params`. None is the default of the library.
    defaults : bool, default=True
        Whether to add the library's own defaults where they differ from those of Sapwood, so that the result trains like the library.
        False: translate only `params`.

    Returns
    -------
    dict
        Parameters of `BoostingClassifier`, `BoostingRegressor` or `BoostingRanker`.

    Warns
    -----
    UserWarning
        If parameters that change the model could not be translated, or belong to `fit`. Parameters that do not change the model, such as
        the device, are left out without a warning.

    Raises
    ------
    ValueError
        If the library is unknown, or has no parameter of that name.

    Examples
    --------
    >>> from sapwood.compat import params_from
    >>> params_from("xgboost", {"n_estimators": 500, "eta": 0.05, "reg_lambda": 2.0}, defaults=False)
    {'max_iter': 500, 'learning_rate': 0.05, 'l2_regularization': 2.0}
    >>> params_from("catboost", {"loss_function": "Quantile:alpha=0.9"}, defaults=False)
    {'loss': 'quantile', 'quantile': 0.9}
    """
    key = ALIASES.get(library.lower(), library.lower())
    if key not in LIBRARIES:
        raise ValueError(f"library={library!r} is unknown; choose from {', '.join(LIBRARIES)}")
    source = LIBRARIES[key]
    given = {name: value for name, value in params.items() if value is not None}
    translated: dict[str, Any] = dict(source.defaults) if defaults else {}
    remarks = []
    for name, value in given.items():
        if name not in source.names:
            near = difflib.get_close_matches(name, source.names, n=1)
            raise ValueError(f"{source.name} has no parameter {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        counterpart = source.names[name]
        found = None if counterpart.in_fit else counterpart.try_to_translate(value)
        if found is not None:
            translated |= found
        elif not counterpart.harmless:
            remarks.append(f"{name}={value!r}: {counterpart.describe()}")
    source.adjust(given, translated)
    if remarks:
        warnings.warn(f"parameters of {source.name} that were not translated: {'; '.join(remarks)}", stacklevel=2)
    return translated
