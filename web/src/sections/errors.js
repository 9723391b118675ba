import { bandLabel, choose, controls, draw, labelMargin } from "../page.js";
import * as Plot from "../plot.js";
import { histogram } from "./data.js";

export function errors(data) {
  if (data.labels) confusion(data);
  else if (data.outputs) residuals(data.outputs);
  else if (data.curves) survival(data.curves);
  else if (data.edges) histogram("ndcg", data, "queries");
}

function confusion({ labels, counts }) {
  const rows = counts.flatMap((row, i) => {
    const total = row.reduce((a, b) => a + b, 0);
    return row.map((count, j) => ({ true: labels[i], predicted: labels[j], rows: count, fraction: total ? count / total : 0, right: i === j }));
  });
  draw(
    "confusion",
    (width) => {
      const size = Math.max(22, Math.min(76, (Math.min(width, 720) - 90) / labels.length));
      const margin = labelMargin(labels, width, 18);
      return {
        marginBottom: 8,
        width: Math.min(width, margin + 24 + size * labels.length),
        height: (labels.length > 8 ? 100 : 66) + Math.min(size, 52) * labels.length,
        marginLeft: margin,
        marginTop: labels.length > 8 ? 90 : 56,
        x: { domain: labels, axis: "top", label: "predicted", tickFormat: bandLabel(size * 8, Math.max(3, Math.floor(size / 7))), tickRotate: labels.length > 8 ? -40 : 0 },
        y: { domain: labels, label: "true", labelAnchor: "top", labelArrow: "none", tickFormat: bandLabel(width, 18) },
        marks: [
          Plot.cell(rows, { x: "predicted", y: "true", fill: "var(--c1)", fillOpacity: (d) => 0.05 + 0.85 * d.fraction, inset: 1, rx: 3, title: (d) => `true ${d.true}, predicted ${d.predicted}: ${d.rows.toLocaleString("en")} rows (${(100 * d.fraction).toFixed(1)}%)` }),
          labels.length <= 12 ? Plot.text(rows, { x: "predicted", y: "true", text: (d) => d.rows.toLocaleString("en"), fill: (d) => (d.fraction > 0.55 ? "white" : "currentColor"), fontVariant: "tabular-nums" }) : null,
        ],
      };
    },
    rows.map(({ true: actual, predicted, rows: n }) => ({ "true class": actual, "predicted class": predicted, rows: n })),
  );
}

function residuals(outputs) {
  const show = ({ actual, predicted, edges, counts }) => {
    const rows = actual.map((value, i) => ({ prediction: predicted[i], target: value, residual: value - predicted[i] }));
    const dots = { fill: "var(--c1)", fillOpacity: 0.45, r: 2.5, tip: true };
    const low = Math.min(...rows.map((row) => row.prediction));
    const high = Math.max(...rows.map((row) => row.prediction));
    draw("actual", () => ({ height: 300, marginLeft: 56, x: { grid: true }, y: { grid: true }, marks: [Plot.line([[low, low], [high, high]], { stroke: "var(--muted)", strokeDasharray: "4" }), Plot.dot(rows, { x: "prediction", y: "target", ...dots })] }), rows);
    draw("residuals", () => ({ height: 300, marginLeft: 56, x: { grid: true }, y: { grid: true }, marks: [Plot.ruleY([0], { stroke: "var(--muted)" }), Plot.dot(rows, { x: "prediction", y: "residual", ...dots })] }), rows);
    histogram("residual-histogram", { edges, counts }, "rows");
  };
  const place = controls("residuals-control");
  if (outputs.length > 1) choose(place, "Output", outputs.map((one) => one.label), (i) => show(outputs[i]));
  if (outputs.length) show(outputs[0]);
}

function survival(curves) {
  const rows = curves.flatMap(({ label, times, alive }) => times.map((time, i) => ({ group: label, time, "without an event": alive[i] })));
  draw(
    "survival",
    () => ({
      height: 340,
      color: { legend: true, domain: curves.map((curve) => curve.label), range: ["var(--c3)", "var(--c4)", "var(--c2)"] },
      x: { grid: true, label: "time" },
      y: { domain: [0, 1], grid: true },
      marks: [Plot.line(rows, { x: "time", y: "without an event", stroke: "group", curve: "step-after", strokeWidth: 2 }), Plot.tip(rows, Plot.pointerX({ x: "time", y: "without an event", stroke: "group" }))],
    }),
    rows,
  );
}
