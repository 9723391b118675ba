"""Plain C: one source that needs nothing but a C99 compiler."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from sapwood.data.columns import Kind
from sapwood.encoding.lookup import Lookup
from sapwood.export.base import Exporter, ExportError
from sapwood.export.forest import Forest

PER_LINE = 6

HEAD = """\
/* A Sapwood model: {n_trees} trees, {n_columns} columns, {n_outputs} output(s), loss {loss}, link {link}.

   void {name}_raw(const double *x, double *out);      raw predictions of a row
   void {name}_predict(const double *x, double *out);  what they stand for{what}
{more}
   x has {n_columns} numbers, in the order of {name}_columns; out has {n_outputs}. NAN is missing. Times are microseconds{codes}.
   Build it as it is: cc -std=c99 -O2 -c {name}.c. Sums and functions are those of the library, to the last bit, where the compiler keeps to
   IEEE arithmetic (no -ffast-math, no contraction).
*/
#include <math.h>
#include <stdint.h>
#include <string.h>
"""

WALK = """
/* A node of a tree: x <= threshold goes left; of a category, the members of a set. A leaf has feature -1; its values begin at `left`. */
typedef struct {{
  double threshold;
  int feature, left, right, set;
  unsigned char missing_left;
}} Node;

static int goes_left(const Node *node, double x) {{
  if (x != x) return node->missing_left;
{member}  return x <= node->threshold;
}}
"""

MEMBER = "  if (node->set >= 0) return (int)(sets[node->set * 8 + ((int)x >> 5)] >> ((int)x & 31)) & 1;\n"

LOOK_UP = """
/* What is looked up for combinations of levels. */
typedef struct {
  int feature, n_columns, n_keys;
  const int *columns, *n_levels;
  const int64_t *keys;
  const double *values;
  double other;
} Lookup;

static double look_up(const Lookup *own, const double *x) {
  int64_t key = 0;
  int i, low = 0, high = own->n_keys;
  for (i = 0; i < own->n_columns; ++i) {
    const double code = x[own->columns[i]];
    const int known = code >= 0 && code < own->n_levels[i];
    key = key * (own->n_levels[i] + 1) + (known ? (int64_t)code + 1 : 0);
  }
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (own->keys[middle] < key) low = middle + 1; else high = middle;
  }
  return low < own->n_keys && own->keys[low] == key ? own->values[low] : own->other;
}
"""

RAW = """
void {name}_raw(const double *x, double *out) {{
  int i, k;
{features}  for (k = 0; k < {n_outputs}; ++k) out[k] = base_score[k];
  for (i = 0; i < {n_trees}; ++i) {{
    const Node *node = nodes + roots[i];
    while (node->feature >= 0) node = nodes + (goes_left(node, {x}[node->feature]) ? node->left : node->right);
    {add}
  }}
}}
"""

FEATURES = """\
  double features[{n_features}];
  memcpy(features, x, {n_columns} * sizeof *x);
"""
LOOKED_UP = "  for (i = 0; i < {n}; ++i) features[lookups[i].feature] = look_up(lookups + i, x);\n"
ABSENT = """\
  for (i = 0; i < {n_columns}; ++i) {{
    for (k = 0; k < {n}; ++k) features[i] = x[i] == absent[k] ? NAN : features[i];
  }}
"""

CONSTANT = """
void {name}_raw(const double *x, double *out) {{
  int k;
  (void)x;
  for (k = 0; k < {n_outputs}; ++k) out[k] = base_score[k];
}}
"""

EXP = """
/* e^x to about one unit in the last place, for x from -708 to 708. */
static double exponential(double x) {
  double n, r, r2, r4, r8, a, b, c, p, shifted;
  uint64_t bits, exponent;
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 leaves no room for a fraction */
  if (!(x > -708.0)) x = -708.0;
  if (!(x < 708.0)) x = 708.0;
  n = (x * 1.4426950408889634 + magic) - magic;
  r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  a = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
  b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
  c = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
  p = (a + r4 * b) + r8 * (c + r4 * (1.0 / 479001600.0));
  shifted = n + magic;
  memcpy(&exponent, &shifted, sizeof exponent);
  memcpy(&bits, &magic, sizeof bits);
  exponent -= bits;
  memcpy(&bits, &p, sizeof bits);
  bits += exponent << 52;
  memcpy(&p, &bits, sizeof p);
  return p;
}
"""

LINKS = {
    "identity": "",
    "log": "  for (k = 0; k < {n}; ++k) out[k] = exponential(out[k]);\n",
    "logit": """\
  for (k = 0; k < {n}; ++k) {{
    const double e = exponential(-fabs(out[k])), inverse = 1.0 / (1.0 + e);
    out[k] = out[k] >= 0 ? inverse : e * inverse;
  }}
""",
    "softmax": """\
  double top = out[0], sum = 0;
  for (k = 1; k < {n}; ++k) top = out[k] > top ? out[k] : top;
  for (k = 0; k < {n}; ++k) sum += out[k] = exponential(out[k] - top);
  for (k = 0; k < {n}; ++k) out[k] /= sum;
""",
    "sorted": """\
  for (k = 1; k < {n}; ++k) {{
    const double own = out[k];
    int to = k;
    for (; to > 0 && out[to - 1] > own; --to) out[to] = out[to - 1];
    out[to] = own;
  }}
""",
}

TWO_CLASSES = """
int {name}_class(const double *x) {{
  double out[1];
  {name}_raw(x, out);
  return out[0] > 0;
}}
"""

MORE_CLASSES = """
int {name}_class(const double *x) {{
  double out[{n_outputs}];
  int k, best = 0;
  {name}_raw(x, out);
  for (k = 1; k < {n_outputs}; ++k) best = out[k] > out[best] ? k : best;
  return best;
}}
"""

LEVELS = """
/* The levels of categories: for columns from first to last, in ascending order, and the codes they have. */
typedef struct {{
  {type} level;
  int column, code;
}} {Kind};

static const {Kind} {kind}_levels[] = {{
{rows}
}};

double {name}_{function}(int column, {type} level) {{
  int low = 0, high = {n};
  while (low < high) {{
    const int middle = low + (high - low) / 2;
    const {Kind} *own = {kind}_levels + middle;
    if (own->column < column || (own->column == column && {less})) low = middle + 1; else high = middle;
  }}
  if (low < {n} && {kind}_levels[low].column == column && {equal}) return {kind}_levels[low].code;
  return NAN;
}}
"""


class CSource(Exporter):
    """The source as a text.

    Parameters
    ----------
    name : what its functions' names begin with
    """

    name = "c"
    knows_absent = True

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, name: str = "sapwood") -> None:
        super().__init__(forest, classes)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"name={name!r} must be an identifier of C: what names of functions begin with")
        self.prefix = name
        self.lookups = dict(sorted(forest.model.encoding.lookups.items())) if forest.trees else {}

    def make(self) -> str:
        parts = [self._head(), self._columns(), _table("double", "base_score", map(_number, self.forest.base_score))]
        if self.forest.trees:
            parts += [self._lookups(), self._trees()]
        else:
            parts.append(CONSTANT.format(name=self.prefix, n_outputs=self.forest.n_outputs))
        return "".join([*parts, self._link(), self._classes(), self._levels()])

    def _head(self) -> str:
        forest, name = self.forest, self.prefix
        more = ""
        if self.classes is not None:
            more += f"   int {name}_class(const double *x);                     the most probable class: its number in {name}_classes\n"
        text, number = self._categories()
        if text:
            more += (
                f"   double {name}_code(int column, const char *level);     the code of a category's level (UTF-8); NAN if there is none\n"
            )
        if number:
            more += f"   double {name}_number_code(int column, double level);   the same where levels are numbers\n"
        what = ": the probability of the last class" if self.classes is not None and forest.n_outputs == 1 else ""
        return HEAD.format(
            name=name,
            n_trees=len(forest.trees),
            n_columns=forest.n_columns,
            n_outputs=forest.n_outputs,
            loss=forest.model.loss,
            link=forest.link,
            what=what,
            more=more,
            codes=", categories are codes: see below" if text or number else "",
        )

    def _columns(self) -> str:
        names = ", ".join(_text(name, "the column name") for name in self.forest.column_names)
        return f"\nconst char *const {self.prefix}_columns[] = {{{names}}};\n"

    def _lookups(self) -> str:
        if not self.lookups:
            return ""
        parts, rows = [LOOK_UP], []
        for f, own in self.lookups.items():
            parts.append(_table("int", f"columns_{f}", map(str, own.columns)) + _table("int", f"levels_{f}", map(str, own.n_levels)))
            keys, values = _whole(own)
            parts.append(_table("int64_t", f"keys_{f}", map(str, keys)) + _table("double", f"values_{f}", map(_number, values)))
            rows.append(
                f"  {{{f}, {len(own.columns)}, {len(own.keys)}, columns_{f}, levels_{f}, keys_{f}, values_{f}, {_number(own.other)}}},\n"
            )
        return "".join([*parts, "\nstatic const Lookup lookups[] = {\n", *rows, "};\n"])

    def _trees(self) -> str:
        forest = self.forest
        roots = list(accumulate((len(tree.feature) for tree in forest.trees), initial=0))
        values: list[str] = []
        rows: list[str] = []
        sets: list[str] = []
        for root, tree in zip(roots, forest.trees, strict=False):
            first_set = len(sets)
            sets += [f"0x{word:08x}u" for word in tree.sets.ravel()]
            value = tree.value.reshape(len(tree.feature), -1)
            by_set = forest.model.binning.is_category(tree.feature)
            for node, feature in enumerate(tree.feature):
                if feature < 0:
                    rows.append(f"{{0, -1, {len(values)}, 0, -1, 0}}")
                    values += map(_number, value[node])
                    continue
                threshold, number = ("0", first_set // 8 + tree.bin[node]) if by_set[node] else (_number(tree.threshold[node]), -1)
                children = f"{root + tree.left[node]}, {root + tree.right[node]}"
                rows.append(f"{{{threshold}, {feature}, {children}, {number}, {int(tree.missing_left[node])}}}")
        parts = [_table("uint32_t", "sets", sets)] if sets else []
        parts += [WALK.format(member=MEMBER if sets else ""), _table("Node", "nodes", rows, 3), _table("double", "leaf_values", values)]
        parts.append(_table("int", "roots", map(str, roots[:-1])))
        add = f"out[i % {forest.n_outputs}] += leaf_values[node->left];"
        if forest.shared:
            add = f"for (k = 0; k < {forest.n_outputs}; ++k) out[k] += leaf_values[node->left + k];"
        features = FEATURES.format(n_features=forest.model.n_features, n_columns=forest.n_columns)
        if forest.absent:  # codes of categories are no numbers: what is looked up comes later, from x
            parts.append(_table("double", "absent", map(_number, forest.absent)))
            features += ABSENT.format(n=len(forest.absent), n_columns=forest.n_columns)
        if self.lookups:
            features += LOOKED_UP.format(n=len(self.lookups))
        features = features if forest.absent or self.lookups else ""
        body = {"n_outputs": forest.n_outputs, "n_trees": len(forest.trees), "add": add, "x": "features" if features else "x"}
        return "".join([*parts, RAW.format(name=self.prefix, features=features, **body)])

    def _link(self) -> str:
        code = LINKS[self.forest.link].format(n=self.forest.n_outputs)
        counter = "  int k;\n" if code else ""
        body = f"void {self.prefix}_predict(const double *x, double *out) {{\n{counter}  {self.prefix}_raw(x, out);\n{code}}}\n"
        return f"{EXP if 'exponential' in code else ''}\n{body}"

    def _classes(self) -> str:
        if self.classes is None:
            return ""
        labels = ", ".join(_text(str(label), "the class") for label in self.classes)
        code = (TWO_CLASSES if self.forest.n_outputs == 1 else MORE_CLASSES).format(name=self.prefix, n_outputs=self.forest.n_outputs)
        return f"\nconst char *const {self.prefix}_classes[] = {{{labels}}};\n{code}"

    def _categories(self) -> tuple[list[tuple[int, Kind]], list[tuple[int, Kind]]]:
        """The columns whose levels are texts, and those where they are numbers."""
        kinds = [(c, self.forest.schema.kind(c)) for c in self.forest.schema.categories]
        kinds = [(c, kind) for c, kind in kinds if kind.levels]
        text = [(c, kind) for c, kind in kinds if isinstance(kind.levels[0], str) or isinstance(kind.levels[-1], str)]
        return text, [pair for pair in kinds if pair not in text]

    def _levels(self) -> str:
        text, number = self._categories()
        texts = sorted((c, str(level).encode(), code) for c, kind in text for code, level in enumerate(kind.levels))
        numbers = sorted((c, float(level), code) for c, kind in number for code, level in enumerate(kind.levels))
        out = ""
        if texts:
            rows = [f"  {{{_text(level.decode(), f'a level of column {c}')}, {c}, {code}}}," for c, level, code in texts]
            words = {"type": "const char *", "Kind": "TextLevel", "kind": "text", "function": "code"}
            words |= {"less": "strcmp(own->level, level) < 0", "equal": "strcmp(text_levels[low].level, level) == 0"}
            out += LEVELS.format(name=self.prefix, n=len(rows), rows="\n".join(rows), **words)
        if numbers:
            rows = [f"  {{{_number(level)}, {c}, {code}}}," for c, level, code in numbers]
            words = {"type": "double", "Kind": "NumberLevel", "kind": "number", "function": "number_code"}
            words |= {"less": "own->level < level", "equal": "number_levels[low].level == level"}
            out += LEVELS.format(name=self.prefix, n=len(rows), rows="\n".join(rows), **words)
        return out


def _whole(lookup: Lookup) -> tuple[list[int], list[float]]:
    """Keys and values, at least one of each: C has no empty tables."""
    return (lookup.keys.tolist(), lookup.values.tolist()) if len(lookup.keys) else ([0], [0.0])


def _table(type_: str, name: str, values: Iterable[str], per_line: int = PER_LINE) -> str:
    values = list(values)
    lines = [", ".join(values[at : at + per_line]) for at in range(0, len(values), per_line)]
    return f"\nstatic const {type_} {name}[] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def _number(x: float) -> str:
    """Exact."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "HUGE_VAL" if x > 0 else "-HUGE_VAL"
    return float(x).hex() if x != int(x) or abs(x) > 1e15 else repr(float(x))


def _text(text: str, what: str) -> str:
    """A literal of C: UTF-8, with octal escapes for what is not plain ASCII."""
    if "\0" in text:
        raise ExportError(f"format='c' cannot express {what} {json.dumps(text)}: texts of C end at a zero byte")
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return '"' + "".join(plain) + '"'
