"""Arrays as users may hand them over: a view of a table with other strides."""

import numpy as np

VIEWS = {
    "fortran": np.asfortranarray,
    "every second row": lambda x: x[::2],
    "every third column": lambda x: x[:, ::3],
    "read-only": lambda x: x,
    "reversed": lambda x: x[::-1, ::-1],
}


def view_of(x, name):
    view = VIEWS[name](x)
    view.flags.writeable = name != "read-only"
    return view
