import { bandLabel, choose, controls, draw, labelMargin } from "../page.js";
import * as Plot from "../plot.js";
import { number, short } from "../forest.js";

const HEAT = ["#0072B2", "#9BB8CC", "#C9C4BC", "#E3B97A", "#D55E00"];

const chosen = { data: null, kind: 0 }; // a live page keeps the choice of the user

export function importance(data) {
  const names = Object.keys(data.kinds);
  const place = document.getElementById("importance-control");
  chosen.data = data;
  if (place && !place.hasChildNodes()) {
    choose(place, "Kind", names.map((name) => `${name}: ${data.texts[name]}`), (i) => {
      chosen.kind = i;
      drawImportance();
    });
  }
  drawImportance();
}

function drawImportance() {
  const { kinds, texts } = chosen.data;
  const name = Object.keys(kinds)[chosen.kind];
  const rows = kinds[name];
  draw(
    "importance",
    (width) => ({
      height: 60 + 22 * rows.length,
      marginTop: 8,
      marginLeft: labelMargin(rows.map((row) => row.name), width),
      marginRight: 48,
      x: { grid: true, label: texts[name], labelAnchor: "left" },
      y: { domain: rows.map((row) => row.name), label: null, tickFormat: bandLabel(width) },
      marks: [
        Plot.barX(rows, { x: "value", y: "name", fill: "var(--c1)", rx: 2 }),
        Plot.text(rows, { x: "value", y: "name", text: (d) => number(d.value, 3), textAnchor: "start", dx: 5, fill: "var(--muted)" }),
        Plot.ruleX([0], { stroke: "var(--muted)" }),
      ],
    }),
    rows.map((row) => ({ column: row.name, [name]: row.value })),
  );
}

/** Moves dots with about the same x apart: offsets of at most 0.42. */
function swarm(values) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known);
  const width = (Math.max(...known) - low) / 90 || 1;
  const seen = new Map();
  const turns = values.map((value) => {
    const bin = Math.floor((value - low) / width);
    const turn = seen.get(bin) ?? 0;
    seen.set(bin, turn + 1);
    return turn;
  });
  const step = Math.min(0.11, 0.84 / Math.max(...seen.values()));
  return turns.map((turn) => (turn % 2 ? -1 : 1) * Math.ceil(turn / 2) * step);
}

export function shap(data) {
  let output = 0;
  let column = 0;
  let by = data.columns.length > 1 ? 1 : 0;
  const names = data.columns.map((one) => one.name);
  const summary = () => {
    const rows = data.columns.flatMap((one, c) => {
      const values = data.values[output][c];
      const offsets = swarm(values);
      return values.map((value, i) => ({ column: one.name, value, y: c + offsets[i], rank: one.ranks ? one.ranks[i] : null, of: one.numbers ? number(one.numbers[i]) : one.levels[i] }));
    });
    const text = (d) => `${d.column} = ${d.of}\nSHAP value ${number(d.value, 3)}`;
    draw(
      "shap",
      (width) => ({
        height: 50 + 38 * names.length,
        marginLeft: labelMargin(names, width),
        x: { grid: true, label: `SHAP value${data.outputs.length > 1 ? ` for ${data.outputs[output]}` : ""}` },
        y: { domain: [-0.6, names.length - 0.4], ticks: names.map((_, i) => i), tickFormat: (i) => bandLabel(width)(names[i]), tickSize: 0, label: null, reverse: true },
        color: { type: "linear", domain: [0, 0.25, 0.5, 0.75, 1], range: HEAT, legend: true, label: "value of the column", ticks: [0, 1], marginLeft: 16, marginRight: 16, tickFormat: (x) => (x ? "high" : "low"), unknown: "var(--c3)", width: Math.min(200, width) },
        marks: [Plot.ruleX([0], { stroke: "var(--muted)" }), Plot.dot(rows, { x: "value", y: "y", fill: "rank", r: 2.2, fillOpacity: 0.85 }), Plot.tip(rows, Plot.pointer({ x: "value", y: "y", title: text }))],
      }),
      rows.map((row) => ({ column: row.column, value: row.of, "SHAP value": row.value })),
    );
  };
  const dependence = () => {
    const one = data.columns[column];
    const other = data.columns[by];
    const values = data.values[output][column];
    const at = (column_, i) => (column_.numbers ? column_.numbers[i] : column_.levels[i]);
    const rows = values.map((value, i) => ({ x: at(one, i), value, color: other.ranks ? other.ranks[i] : other.levels[i], of: at(other, i) })).filter((row) => row.x !== null);
    const color = other.ranks
      ? { type: "linear", domain: [0, 0.25, 0.5, 0.75, 1], range: HEAT, legend: true, label: other.name, ticks: [0, 1], marginLeft: 16, marginRight: 16, tickFormat: (x) => (x ? "high" : "low"), width: 200 }
      : { type: "categorical", domain: [...new Set(other.levels)].slice(0, 8), range: ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"], legend: true, unknown: "var(--muted)" };
    const text = (d) => `${one.name} = ${d.x}\n${other.name} = ${d.of}\nSHAP value ${number(d.value, 3)}`;
    draw(
      "shap-dependence",
      () => ({
        height: 320,
        marginLeft: 56,
        marginBottom: one.levels ? 60 : 42,
        color,
        x: one.levels ? { type: "point", label: one.name, tickRotate: -25, tickFormat: bandLabel(300, 14), padding: 0.6 } : { type: "linear", label: one.name, grid: true, tickFormat: axisFormat(one.kind) },
        y: { label: "SHAP value", grid: true },
        marks: [
          Plot.ruleY([0], { stroke: "var(--muted)" }),
          Plot.dot(rows, { x: "x", y: "value", fill: "color", r: 3, fillOpacity: 0.85 }),
          Plot.tip(rows, Plot.pointer({ x: "x", y: "value", title: text })),
        ],
      }),
      rows.map((row) => ({ [one.name]: row.x, [`${other.name} `]: row.of, "SHAP value": row.value })),
    );
  };
  const all = () => {
    summary();
    dependence();
  };
  const place = controls("shap-control");
  if (data.outputs.length > 1) {
    choose(place, "Output", data.outputs, (i) => {
      output = i;
      all();
    });
  }
  const second = controls("dependence-control");
  choose(second, "Column", names, (i) => {
    column = i;
    dependence();
  });
  choose(second, "Color by", names, (i) => {
    by = i;
    dependence();
  }, by);
  all();
}

/** Format of the ticks of a column: dates for datetimes. */
export function axisFormat(kind) {
  if (kind === "datetime") return (value) => (Math.abs(value) < 8.64e18 ? new Date(value / 1000).toISOString().slice(0, 10) : String(value));
  if (kind === "duration") return (value) => `${number(value / 1e6, 4)} s`;
  return undefined;
}

function axisOf({ levels, values, kind }) {
  return levels ? levels.map((level) => ({ at: level })) : values.map((value) => ({ at: value, kind }));
}

export function dependence({ outputs, curves, pairs }) {
  let output = 0;
  let pair = 0;
  const showCurves = () => {
    curves.forEach((curve, i) => {
      const axis = axisOf(curve);
      const mean = axis.map((one, j) => ({ x: one.at, prediction: curve.mean[output][j] }));
      const lines = curve.lines[output].flatMap((line, row) => line.map((prediction, j) => ({ x: axis[j].at, prediction, row })));
      const banded = Boolean(curve.levels);
      draw(
        `pd-${i}`,
        () => ({
          height: 190,
          marginTop: 10,
          marginLeft: 56,
          marginBottom: banded ? 56 : 32,
          x: banded ? { type: "point", domain: curve.levels, tickRotate: -25, tickFormat: bandLabel(300, 14), label: null, padding: 0.4 } : { type: "linear", label: null, ticks: 4, tickFormat: axisFormat(curve.kind) },
          y: { grid: true, label: null, zero: false },
          marks: [
            Plot.line(lines, { x: "x", y: "prediction", z: "row", stroke: "var(--muted)", strokeOpacity: 0.25, strokeWidth: 1 }),
            Plot.line(mean, { x: "x", y: "prediction", stroke: "var(--c1)", strokeWidth: 2.5 }),
            banded ? Plot.dot(mean, { x: "x", y: "prediction", fill: "var(--c1)", r: 4 }) : null,
            Plot.tip(mean, Plot.pointerX({ x: "x", y: "prediction", title: (d) => `${curve.name} = ${banded ? d.x : number(d.x)}\nmean ${number(d.prediction)}` })),
          ],
        }),
        mean.map((row) => ({ [curve.name]: row.x, mean: row.prediction })),
      );
    });
  };
  const showPair = () => {
    if (!pairs.length) return;
    const { names, axes, mean } = pairs[pair];
    const label = (axis) => (axis.levels ? axis.levels : axis.values.map((value) => (axisFormat(axis.kind) ?? ((x) => number(x, 3)))(value)));
    const [first, second] = axes.map(label);
    const rows = first.flatMap((x, i) => second.map((y, j) => ({ i: String(i), j: String(j), x, y, mean: mean[output][i][j] })));
    draw(
      "pair",
      (width) => ({
        width: Math.min(width, 640),
        height: 90 + 30 * second.length,
        marginLeft: labelMargin(second, width),
        marginBottom: 64,
        x: { type: "band", domain: first.map((_, i) => String(i)), label: short(names[0], 40), tickRotate: -30, tickFormat: (i) => bandLabel(width, 14)(first[i]) },
        y: { type: "band", domain: second.map((_, i) => String(i)), reverse: true, label: short(names[1], 40), labelAnchor: "top", labelArrow: "none", tickFormat: (i) => bandLabel(width, 18)(second[i]) },
        color: { type: "linear", range: HEAT, domain: spread(rows.map((row) => row.mean)), legend: true, label: "mean raw prediction", marginLeft: 24, marginRight: 24, width: Math.min(260, width) },
        marks: [Plot.cell(rows, { x: "i", y: "j", fill: "mean", inset: 0.5 }), Plot.tip(rows, Plot.pointer({ x: "i", y: "j", title: (d) => `${names[0]} = ${d.x}\n${names[1]} = ${d.y}\nmean ${number(d.mean)}` }))],
      }),
      rows.map((row) => ({ [names[0]]: row.x, [`${names[1]} `]: row.y, mean: row.mean })),
    );
  };
  const place = controls("pd-control");
  if (outputs.length > 1) {
    choose(place, "Output", outputs, (i) => {
      output = i;
      showCurves();
      showPair();
    });
  }
  const second = controls("pair-control");
  if (second) {
    choose(second, "Columns", pairs.map((one) => `${one.names[0]} × ${one.names[1]} (${number(one.strength, 3)})`), (i) => {
      pair = i;
      showPair();
    });
  }
  showCurves();
  showPair();
}

function spread(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [0, 0.25, 0.5, 0.75, 1].map((part) => low + part * (high - low || 1));
}
