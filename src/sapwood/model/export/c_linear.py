"""Linear leaves in C: tables of slopes and inputs, and the code that adds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from sapwood.trees.leaf_models import LeafModel, LinearLeaves

INPUTS = """
/* An input of slopes: a number for each interval between the cut points of a feature; NAN is missing. */
typedef struct {
  int feature, n_cuts, first;
} Input;

static double input_of(const Input *own, int number, double x) {
  int low = 0, high = own->n_cuts;
  if (x != x) return x;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (input_cuts[own->first + middle] < x) low = middle + 1; else high = middle;
  }
  return input_values[own->first + number + low];
}

/* Slopes of a leaf: their number is in `set`, the first one in `right`. */
typedef struct {
  double slope, center, low, high;
  int input;
} Slope;

static double part_of_slope(const Slope *own, double x) {
  if (x != x) return 0;
  return own->slope * ((x < own->low ? own->low : x > own->high ? own->high : x) - own->center);
}
"""

READ_INPUTS = """\
  double z[{n}];
  for (i = 0; i < {n}; ++i) z[i] = input_of(inputs + i, i, {x}[inputs[i].feature]);
"""

ADD = """{{
      double value = leaf_values[node->left];
      for (k = 0; k < node->set; ++k) value += part_of_slope(slopes + node->right + k, z[slopes[node->right + k].input]);
      out[i % {n_outputs}] += value;
    }}"""


class LinearTables:
    """Slopes and inputs of the leaves of all trees."""

    arrays: dict[str, np.ndarray]
    n_inputs: int
    n_slopes: list[int]

    def __init__(self, leaves: Sequence[LeafModel]) -> None:
        self.arrays = LinearLeaves.join([cast(LinearLeaves, own) for own in leaves])
        self.n_inputs = len(self.arrays["input_feature"])
        self.n_slopes = self.arrays["n_slopes"].tolist()

    def tables(self, table: Callable[..., str], number: Callable[[float], str]) -> str:
        """Return the source of the tables and of the functions that read them."""
        a = self.arrays
        begin = a["input_begin"].tolist()
        inputs = [
            f"{{{feature}, {last - first}, {first}}}"
            for feature, first, last in zip(a["input_feature"].tolist(), begin, begin[1:], strict=False)
        ]
        columns = (a[name].tolist() for name in ("slope", "slope_center", "slope_low", "slope_high", "slope_input"))
        slopes = [f"{{{', '.join(map(number, four))}, {own}}}" for *four, own in zip(*columns, strict=True)]
        cuts = table("double", "input_cuts", map(number, a["input_cuts"])) + table("double", "input_values", map(number, a["input_values"]))
        return cuts + INPUTS + table("Input", "inputs", inputs) + table("Slope", "slopes", slopes, 2)
