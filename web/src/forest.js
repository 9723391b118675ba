// Evaluation of the trees. A row is an array of numbers, one for each column that the trees use: NaN is missing, and so is -1, the code of a
// missing level. The results are those of sapwood, up to the last digits.

import { calendarPart } from "./calendar.js";
import { typed } from "./decode.js";

export class Forest {
  constructor(data) {
    this.columns = data.columns;
    this.features = data.features.map((one) => new Feature(one));
    this.base = data.base;
    this.link = data.link;
    this.nOutputs = data.nOutputs;
    this.shared = data.shared;
    this.treesPerRound = data.treesPerRound;
    this.absent = new Set(data.absent);
    this.begin = typed(data.begin);
    this.feature = typed(data.feature);
    this.split = typed(data.split);
    this.missingLeft = typed(data.missingLeft);
    this.thresholds = typed(data.thresholds);
    this.sets = typed(data.sets);
    this.values = typed(data.values);
    this.count = data.count && typed(data.count);
    this.gain = data.gain && typed(data.gain);
    this.slopes = data.slopes && new Slopes(data.slopes);
    this.nTrees = this.begin.length - 1;
    this.width = data.shared ? data.nOutputs : 1;
    this.right = new Int32Array(this.feature.length);
    this.leaf = new Int32Array(this.feature.length); // number of a leaf among the leaves of all trees
    const open = [];
    let nLeaves = 0;
    for (let i = 0; i < this.feature.length; ++i) {
      if (this.feature[i] >= 0) {
        open.push(i);
      } else {
        this.leaf[i] = nLeaves++;
        if (open.length) this.right[open.pop()] = i + 1; // nodes are in preorder: what follows a leaf is the latest open right branch
      }
    }
  }

  /** Returns the features of a row. */
  encode(row) {
    const clean = row.map((value, i) => (this.columns[i].kind !== "category" && this.absent.has(value) ? NaN : value));
    return Float64Array.from(this.features, (feature) => feature.of(clean));
  }

  goesLeft(node, x) {
    if (Number.isNaN(x)) return this.missingLeft[node] !== 0;
    if (this.features[this.feature[node]].byLevel) {
      return ((this.sets[this.split[node] * 8 + (x >> 5)] >>> (x & 31)) & 1) === 1;
    }
    return x <= this.thresholds[this.split[node]];
  }

  /** Returns the nodes that a row passes in a tree, from the root to a leaf. */
  path(tree, features) {
    let node = this.begin[tree];
    const nodes = [node];
    while (this.feature[node] >= 0) {
      node = this.goesLeft(node, features[this.feature[node]]) ? node + 1 : this.right[node];
      nodes.push(node);
    }
    return nodes;
  }

  /** Returns the raw predictions of a row. */
  raw(row) {
    const features = this.encode(row);
    const out = Float64Array.from(this.base);
    for (let tree = 0; tree < this.nTrees; ++tree) {
      let node = this.begin[tree];
      while (this.feature[node] >= 0) node = this.goesLeft(node, features[this.feature[node]]) ? node + 1 : this.right[node];
      const leaf = this.leaf[node];
      if (this.shared) {
        for (let k = 0; k < this.width; ++k) out[k] += this.values[leaf * this.width + k];
      } else {
        out[tree % this.nOutputs] += this.values[leaf] + (this.slopes ? this.slopes.of(leaf, features) : 0);
      }
    }
    return out;
  }

  /** Returns the predictions for raw predictions. */
  predict(raw) {
    const out = Array.from(raw);
    if (this.link === "log") return out.map(Math.exp);
    if (this.link === "logit") return out.map((x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))));
    if (this.link === "sorted") return out.sort((a, b) => a - b);
    if (this.link === "softmax") {
      const top = Math.max(...out);
      const exponentials = out.map((x) => Math.exp(x - top));
      const total = exponentials.reduce((a, b) => a + b, 0);
      return exponentials.map((x) => x / total);
    }
    return out;
  }

  /** Returns the condition of a node as text. */
  question(node) {
    const feature = this.features[this.feature[node]];
    const name = feature.columns.map((c) => short(this.columns[c].name)).join(" × ");
    const column = this.columns[feature.columns[0]];
    if (feature.byLevel) {
      const levels = feature.levelsIn(this.sets.subarray(this.split[node] * 8, this.split[node] * 8 + 8), column);
      return `${name} in ${levels.slice(0, 3).map((level) => short(level)).join(", ")}${levels.length > 3 ? `, … (${levels.length} levels)` : ""}`;
    }
    const threshold = this.thresholds[this.split[node]];
    if (feature.part) return `${feature.part} of ${name} ≤ ${number(threshold)}`;
    if (feature.operation) {
      const [first, second] = feature.columns.map((c) => short(this.columns[c].name));
      const sign = { difference: "-", product: "*", centered: "- mean by" }[feature.operation];
      return `${first} ${sign} ${second} ≤ ${number(threshold)}`;
    }
    if (feature.table) return `${name}, encoded ≤ ${number(threshold)}`;
    if (column.kind === "bool") return `${name} is false`;
    return `${name} ≤ ${formatValue(threshold, column)}`;
  }

  /** Returns the values of a leaf. */
  leafValues(node) {
    const leaf = this.leaf[node];
    return Array.from(this.values.subarray(leaf * this.width, (leaf + 1) * this.width));
  }
}

class Feature {
  constructor({ columns, missing, part, zone, operation, means, codes, values, other, byLevel }) {
    Object.assign(this, { columns, missing, part, zone, operation, means, byLevel: Boolean(byLevel) });
    if (codes) {
      const keys = codes.map(typed);
      const found = typed(values);
      this.other = other ?? NaN;
      this.table = new Map(Array.from(found, (value, i) => [keys.map((own) => own[i]).join(","), value]));
    }
  }

  of(row) {
    const values = this.columns.map((c) => row[c]);
    if (this.part) return calendarPart(values[0], this.part, this.zone);
    if (this.operation === "product") return values[0] * values[1];
    if (this.operation) return values[0] - (this.means ? this.means[values[1] >= 0 ? values[1] : -1] : values[1]);
    if (!this.table) return values[0];
    return this.table.get(values.map((value) => (value >= 0 ? value : -1)).join(",")) ?? this.other;
  }

  /** Returns the levels of a column that are in a set. */
  levelsIn(set, column) {
    const out = [];
    for (const [key, value] of this.table) {
      if ((set[value >> 5] >>> (value & 31)) & 1) {
        const at = column.codes.indexOf(Number(key));
        out.push(at < 0 ? "missing" : column.levels[at]);
      }
    }
    return out;
  }
}

/** Slopes of linear leaves: each adds slope * (clip(input, low, high) - center). */
class Slopes {
  constructor(data) {
    this.inputs = data.inputs.map(({ feature, cuts, values }) => ({ feature, cuts: typed(cuts), values: typed(values) }));
    for (const name of ["n", "input", "slope", "center", "low", "high"]) this[name] = typed(data[name]);
    this.begin = new Int32Array(this.n.length + 1);
    for (let i = 0; i < this.n.length; ++i) this.begin[i + 1] = this.begin[i] + this.n[i];
  }

  of(leaf, features) {
    let total = 0;
    for (let i = this.begin[leaf]; i < this.begin[leaf + 1]; ++i) {
      const { feature, cuts, values } = this.inputs[this.input[i]];
      const x = features[feature];
      if (Number.isNaN(x)) continue;
      let low = 0;
      let high = cuts.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (cuts[middle] < x) low = middle + 1;
        else high = middle;
      }
      total += this.slope[i] * (Math.min(Math.max(values[low], this.low[i]), this.high[i]) - this.center[i]);
    }
    return total;
  }
}

export function short(text, length = 28) {
  const plain = String(text).replace(/\s+/g, " ");
  return plain.length <= length ? plain : `${plain.slice(0, length - 10)}…${plain.slice(-9)}`;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size && (size >= 1e7 || size < 1e-4)) return value.toPrecision(digits).replace(/\.?0+e/, "e");
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return String(Number(value.toPrecision(digits)));
}

/** Returns a value of a column as text. */
export function formatValue(value, column) {
  if (column.kind === "category") {
    const at = column.codes.indexOf(value);
    return at < 0 ? "missing" : column.levels[at];
  }
  if (Number.isNaN(value) || value === null) return "missing";
  if (column.kind === "bool") return value ? "true" : "false";
  if (column.kind === "datetime" && Math.abs(value) < 8.64e18) return new Date(value / 1000).toISOString().slice(0, 19).replace("T", " ").replace(" 00:00:00", "");
  if (column.kind === "datetime" || column.kind === "duration") return `${number(value / 1e6, 6)} s`;
  return number(value);
}
