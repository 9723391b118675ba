"""Export to C: one source file that needs only a C99 compiler."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from sapwood.data.columns import Kind
from sapwood.encoding.cross import OPERATIONS
from sapwood.encoding.lookup import Lookup
from sapwood.model.export.base import Exporter, ExportError
from sapwood.model.export.c_linear import ADD, READ_INPUTS, LinearTables
from sapwood.model.export.c_pieces import (
    ABSENT,
    CALENDAR,
    CALENDAR_PARTS,
    CONSTANT,
    CROSS,
    CROSSED,
    EXP,
    FEATURES,
    HEAD,
    LEVELS,
    LINKS,
    LOOK_UP,
    LOOKED_UP,
    MEMBER,
    MORE_CLASSES,
    PARTED,
    RAW,
    TWO_CLASSES,
    WALK,
)
from sapwood.model.export.forest import Forest
from sapwood.trees.leaf_models import LinearLeaves

PER_LINE = 6


class CSource(Exporter):
    """C source as a string.

    Parameters
    ----------
    name : prefix of the function names
    """

    name = "c"
    supports_absent = supports_calendar = supports_crosses = True

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, name: str = "sapwood") -> None:
        super().__init__(forest, classes)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"name={name!r} must be a C identifier: it is the prefix of function names")
        self.prefix = name
        self.lookups: dict[int, Lookup] = dict(sorted(forest.model.encoding.lookups.items())) if forest.trees else {}

    def make(self) -> str:
        parts = [self._head(), self._columns(), _table("double", "base_score", map(_number, self.forest.base_score))]
        if self.forest.trees:
            parts += [self._lookups(), self._calendar(), self._crosses(), self._trees()]
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

    def _crosses(self) -> str:
        found = self.forest.crosses
        if not found:
            return ""
        tables = [_table("double", f"means_{f}", map(_number, own.means)) for f, own in found.items() if own.means]
        rows = [
            f"{{{f}, {own.columns[0]}, {own.columns[1]}, {OPERATIONS.index(own.operation)}, {len(own.means)}, "
            f"{f'means_{f}' if own.means else 0}}}"
            for f, own in found.items()
        ]
        return "".join(tables) + CROSS + _table("Cross", "crosses", rows, 4)

    def _calendar(self) -> str:
        found = self.forest.calendar_parts
        if not found:
            return ""
        rows = [f"{{{f}, {own.column}, {CALENDAR_PARTS.index(own.part)}, {self.utc_offset(own.column)}}}" for f, own in found.items()]
        return CALENDAR + _table("CalendarPart", "parts", rows, 4)

    def _trees(self) -> str:
        forest = self.forest
        roots = list(accumulate((len(tree.feature) for tree in forest.trees), initial=0))
        linear = self._linear()
        values: list[str] = []
        rows: list[str] = []
        n_slopes = 0
        sets: list[str] = []
        for root, tree in zip(roots, forest.trees, strict=False):
            first_set = len(sets)
            sets += [f"0x{word:08x}u" for word in tree.sets.ravel()]
            value = self.leaf_values(tree) if linear is None else tree.leaves.mean_values()
            by_set = forest.model.binning.is_category(tree.feature)
            for node, feature in enumerate(tree.feature):
                if feature < 0:
                    own = 0 if linear is None else linear.n_slopes[root + node]
                    rows.append(f"{{0, -1, {len(values)}, {n_slopes}, {own or -1}, 0}}")
                    n_slopes += own
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
        if linear is not None:
            parts.append(linear.tables(_table, _number))
            add = ADD.format(n_outputs=forest.n_outputs)
        features = FEATURES.format(n_features=forest.model.n_features, n_columns=forest.n_columns)
        if forest.absent:  # codes of categories are not affected: they are looked up in x afterwards
            parts.append(_table("double", "absent", map(_number, forest.absent)))
            features += ABSENT.format(n=len(forest.absent), n_columns=forest.n_columns)
        if self.lookups:
            features += LOOKED_UP.format(n=len(self.lookups))
        if forest.calendar_parts:
            features += PARTED.format(n=len(forest.calendar_parts))
        if forest.crosses:
            features += CROSSED.format(n=len(forest.crosses))
        features = features if forest.absent or self.lookups or forest.calendar_parts or forest.crosses else ""
        body = {"n_outputs": forest.n_outputs, "n_trees": len(forest.trees), "add": add, "x": "features" if features else "x"}
        if linear is not None:
            features += READ_INPUTS.format(n=linear.n_inputs, x=body["x"])
        return "".join([*parts, RAW.format(name=self.prefix, features=features, **body)])

    def _linear(self) -> LinearTables | None:
        """Slopes, if any leaf has some."""
        leaves = [tree.leaves for tree in self.forest.trees]
        if self.forest.model.leaf_model is not LinearLeaves or not any(own.constant_values() is None for own in leaves):
            return None
        return LinearTables(leaves)

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
        """Return the categorical columns whose levels are strings, and those whose levels are numbers."""
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
    """Return the keys and values of a lookup, at least one of each: C has no empty arrays."""
    return (lookup.keys.tolist(), lookup.values.tolist()) if len(lookup.keys) else ([0], [0.0])


def _table(type_: str, name: str, values: Iterable[str], per_line: int = PER_LINE) -> str:
    values = list(values)
    lines = [", ".join(values[at : at + per_line]) for at in range(0, len(values), per_line)]
    return f"\nstatic const {type_} {name}[] = {{\n  " + ",\n  ".join(lines) + "\n};\n"


def _number(x: float) -> str:
    """Return a number as an exact C literal."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "HUGE_VAL" if x > 0 else "-HUGE_VAL"
    return float(x).hex() if x != int(x) or abs(x) > 1e15 else repr(float(x))


def _text(text: str, what: str) -> str:
    """Return a string as a C literal: UTF-8, with octal escapes for bytes that are not ASCII."""
    if "\0" in text:
        raise ExportError(f"format='c' does not support {what} {json.dumps(text)}: C strings end at a zero byte")
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return '"' + "".join(plain) + '"'
