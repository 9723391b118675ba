import { choose, controls, draw, make, slide, tableOf } from "../page.js";
import * as Plot from "../plot.js";
import { number } from "../forest.js";

/** Decision threshold of a binary classifier. */
export function scores(data) {
  if (!data.threshold) return;
  const { labels, negative, positive } = data.threshold;
  const n = negative.length;
  const above = (counts) => {
    const out = new Array(n + 1).fill(0);
    for (let i = n - 1; i >= 0; --i) out[i] = out[i + 1] + counts[i];
    return out;
  };
  const fp = above(negative);
  const tp = above(positive);
  const points = fp.map((_, i) => ({
    threshold: i / n,
    "false positive rate": fp[0] ? fp[i] / fp[0] : NaN,
    recall: tp[0] ? tp[i] / tp[0] : NaN,
    precision: tp[i] + fp[i] ? tp[i] / (tp[i] + fp[i]) : NaN,
  }));
  const place = controls("threshold-control");
  const result = make("div", { class: "result", role: "status", "aria-live": "polite" });
  let at = Math.round(n / 2);
  const show = () => {
    const [t, f] = [tp[at], fp[at]];
    const [misses, correct] = [tp[0] - t, fp[0] - f];
    const rows = [
      { "": `true ${labels[1]}`, [`predicted ${labels[0]}`]: misses, [`predicted ${labels[1]}`]: t },
      { "": `true ${labels[0]}`, [`predicted ${labels[0]}`]: correct, [`predicted ${labels[1]}`]: f },
    ];
    const precision = t + f ? t / (t + f) : NaN;
    const recall = tp[0] ? t / tp[0] : NaN;
    const facts = { precision, recall, F1: (2 * t) / (2 * t + f + misses), accuracy: (t + correct) / (tp[0] + fp[0]) };
    const list = make("p", {}, Object.entries(facts).map(([name, value]) => `${name} ${number(value, 3)}`).join(", "));
    result.replaceChildren(list, tableOf(rows, "Confusion matrix at this threshold"));
    const dot = (x, y) => Plot.dot([points[at]], { x, y, r: 6, fill: "var(--c2)", stroke: "var(--page)" });
    const axes = { x: { domain: [0, 1], grid: true }, y: { domain: [0, 1], grid: true }, height: 300 };
    draw("roc", () => ({ ...axes, marks: [Plot.line([[0, 0], [1, 1]], { stroke: "var(--faint)", strokeDasharray: "4" }), Plot.line(points, { x: "false positive rate", y: "recall", stroke: "var(--c1)", strokeWidth: 2 }), dot("false positive rate", "recall")] }), points);
    draw("pr", () => ({ ...axes, marks: [Plot.line(points.filter((p) => !Number.isNaN(p.precision)), { x: "recall", y: "precision", stroke: "var(--c1)", strokeWidth: 2 }), dot("recall", "precision")] }), points);
  };
  slide(place, "Threshold", { min: 0, max: 1, step: 1 / n, value: 0.5 }, (value) => value.toFixed(3), (value) => {
    at = Math.round(value * n);
    show();
  });
  place.append(result);
  show();
}

export function learning(data) {
  const metrics = [...new Set(data.curves.map((curve) => curve.metric))];
  if (!metrics.length) return;
  const rows = data.curves.flatMap(({ set, metric, rounds, values }) => rounds.map((round, i) => ({ set, metric, round, value: values[i] })));
  const sets = [...new Set(rows.map((row) => row.set))];
  draw(
    "learning",
    (width) => ({
      height: Math.max(260, 220 * metrics.length),
      marginRight: metrics.length > 1 ? 110 : 20,
      marginLeft: 60,
      fy: { domain: metrics, label: null, axis: metrics.length > 1 ? "right" : null, padding: 0.15 },
      x: { label: "round", domain: [0, Math.max(1, data.total)], grid: false, ticks: width < 500 ? 4 : 8, tickFormat: "d" },
      y: { grid: true, label: metrics.length === 1 ? metrics[0] : null, zero: false, nice: true },
      color: { legend: true, domain: sets, range: ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"] },
      marks: [
        data.best < data.total ? Plot.ruleX([data.best], { stroke: "var(--muted)", strokeDasharray: "4" }) : null,
        Plot.line(rows, { x: "round", y: "value", stroke: "set", fy: "metric", strokeWidth: 2, clip: true }),
        Plot.tip(rows, Plot.pointerX({ x: "round", y: "value", fy: "metric", title: (d) => `round ${d.round}\n${d.set}, ${d.metric}: ${number(d.value, 5)}` })),
      ],
    }),
    rows,
  );
}

export function calibration(data) {
  if (data.levels) return coverage(data);
  const all = data.curves;
  const show = (chosen) => {
    const rows = [chosen].flatMap((curve) => curve.predicted.map((predicted, i) => ({ label: curve.label, predicted, observed: curve.observed[i], low: curve.low[i], high: curve.high[i], rows: curve.count[i] })));
    const ends = data.binary ? [0, 1] : [Math.min(...rows.flatMap((r) => [r.predicted, r.low])), Math.max(...rows.flatMap((r) => [r.predicted, r.high]))];
    draw(
      "calibration",
      (width) => ({
        height: Math.min(420, Math.max(300, width * 0.7)),
        x: { label: data.binary ? "predicted probability" : "mean prediction", domain: ends, grid: true },
        y: { label: data.binary ? "observed frequency" : "mean target", domain: ends, grid: true },
        marks: [
          Plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: "var(--muted)", strokeDasharray: "4" }),
          Plot.ruleX(rows, { x: "predicted", y1: "low", y2: "high", stroke: "var(--c1)", strokeOpacity: 0.6, strokeWidth: 2 }),
          Plot.line(rows, { x: "predicted", y: "observed", stroke: "var(--c1)" }),
          Plot.dot(rows, { x: "predicted", y: "observed", fill: "var(--c1)", r: 4, tip: true, channels: { rows: "rows" } }),
        ],
      }),
      rows,
    );
  };
  if (all.length > 1) {
    const figure = document.querySelector('[data-chart="calibration"]');
    figure.previousElementSibling?.matches(".controls") && figure.previousElementSibling.remove();
    const place = make("div", { class: "controls" });
    figure.before(place);
    choose(place, data.binary ? "Class" : "Output", all.map((curve) => curve.label), (i) => show(all[i]));
  }
  if (all.length) show(all[0]);
}

function coverage({ levels, below }) {
  const rows = levels.map((level, i) => ({ level, "targets below": below[i] }));
  draw(
    "coverage",
    () => ({
      height: 320,
      x: { domain: [0, 1], grid: true, label: "level" },
      y: { domain: [0, 1], grid: true },
      marks: [Plot.line([[0, 0], [1, 1]], { stroke: "var(--muted)", strokeDasharray: "4" }), Plot.dot(rows, { x: "level", y: "targets below", r: 5, fill: "var(--c1)", tip: true })],
    }),
    rows,
  );
}
