"""Templates of the exported C source."""

from __future__ import annotations

HEAD = """\
/* A Sapwood model: {n_trees} trees, {n_columns} columns, {n_outputs} output(s), loss {loss}, link {link}.

   void {name}_raw(const double *x, double *out);      raw predictions of a row
   void {name}_predict(const double *x, double *out);  predictions, after the link{what}
{more}
   x has {n_columns} numbers, in the order of {name}_columns; out has {n_outputs}. NAN is missing. Times are microseconds{codes}.
   Compile with cc -std=c99 -O2 -c {name}.c. Results are those of Sapwood, to the last bit, if the compiler follows IEEE arithmetic
   (no -ffast-math, no contraction).
*/
#include <math.h>
#include <stdint.h>
#include <string.h>
"""

WALK = """
/* A node: x <= threshold, or a level in the set, goes left. A leaf has feature -1; its values begin at `left`. */
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
/* Values of encoded categories by combination of levels. */
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

CALENDAR = """
/* Calendar parts of a datetime in microseconds since 1970; `ahead` is the offset from UTC. */
typedef struct {
  int feature, column, part;
  int64_t ahead;
} CalendarPart;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Year, month and day of a number of days since 1970. */
static int64_t civil(int64_t days, int *month, int *day) {
  const int64_t z = days + 719468, era = floor_div(z, 146097), of_era = z - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), march = (5 * of_year + 2) / 153;
  *day = (int)(of_year - (153 * march + 2) / 5 + 1);
  *month = (int)(march < 10 ? march + 3 : march - 9);
  return year + era * 400 + (*month <= 2);
}

/* First day of a year, in days since 1970. */
static int64_t begin_of(int64_t year) {
  const int64_t era = floor_div(year - 1, 400), of_era = year - 1 - era * 400;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + 306 - 719468;
}

static double part_of(const CalendarPart *own, double moment) {
  const int64_t us = 86400000000;
  int64_t wall, days, time, year, weekday, thursday;
  int month, day, other_month, other_day;
  if (!(fabs(moment) < 4611686018427387904.0)) return NAN; /* missing, or too far away for int64 */
  wall = (int64_t)floor(moment) + own->ahead;
  days = floor_div(wall, us), time = wall - days * us;
  weekday = days + 3 - 7 * floor_div(days + 3, 7);
  year = civil(days, &month, &day);
  thursday = days - weekday + 3; /* an ISO week belongs to the year of its Thursday */
  switch (own->part) {
    case 0: return (double)year;
    case 1: return (month + 2) / 3;
    case 2: return month;
    case 3: return (double)((thursday - begin_of(civil(thursday, &other_month, &other_day))) / 7 + 1);
    case 4: return day;
    case 5: return (double)(days - begin_of(year) + 1);
    case 6: return (double)weekday;
    case 7: return (double)(time / 3600000000);
    case 8: return (double)(time / 60000000 % 60);
    default: return (double)(time / 1000000 % 60);
  }
}
"""
CALENDAR_PARTS = ["year", "quarter", "month", "week", "day", "dayofyear", "weekday", "hour", "minute", "second"]  # the numbers of the cases
PARTED = "  for (i = 0; i < {n}; ++i) features[parts[i].feature] = part_of(parts + i, features[parts[i].column]);\n"

CROSS = """
/* Features of two columns: their difference, their product, or a number minus its mean by category. */
typedef struct {
  int feature, first, second, operation, n_means;
  const double *means; /* of a missing category, and of each level */
} Cross;

static double cross_of(const Cross *own, const double *features, const double *x) {
  const double first = features[own->first], code = x[own->second];
  if (own->operation == 0) return first - features[own->second];
  if (own->operation == 1) return first * features[own->second];
  return first - own->means[code >= 0 && code < own->n_means - 1 ? (int)code + 1 : 0];
}
"""
CROSSED = "  for (i = 0; i < {n}; ++i) features[crosses[i].feature] = cross_of(crosses + i, features, x);\n"

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
/* Levels of categorical columns, sorted by column and level, with their codes. */
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
