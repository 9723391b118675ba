"""Table of the parameters and methods of other libraries, with their counterparts in Sapwood: one file per library.

Three places use it: the error for an unknown parameter (`advice`), `sapwood.compat.params_from`, and the migration tables of the
documentation.
"""

from __future__ import annotations

from sapwood.params.foreign import catboost, lightgbm, sklearn, xgboost
from sapwood.params.foreign.advice import advice
from sapwood.params.foreign.counterpart import Counterpart, Library, Method

LIBRARIES: dict[str, Library] = {
    "xgboost": xgboost.LIBRARY,
    "lightgbm": lightgbm.LIBRARY,
    "catboost": catboost.LIBRARY,
    "sklearn": sklearn.LIBRARY,
}

__all__ = ["LIBRARIES", "Counterpart", "Library", "Method", "advice"]
