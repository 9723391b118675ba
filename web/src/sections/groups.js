import { bandLabel, choose, controls, draw, labelMargin } from "../page.js";
import * as Plot from "../plot.js";
import { number } from "../forest.js";

export function slices({ columns, whole, title }) {
  const show = (i) => {
    const rows = columns[i].groups;
    draw(
      "slices",
      (width) => ({
        height: 60 + 30 * rows.length,
        marginLeft: labelMargin(rows.map((row) => row.label), width),
        x: { grid: true, label: `mean ${title}` },
        y: { domain: rows.map((row) => row.label), label: null, tickFormat: bandLabel(width) },
        marks: [
          Plot.ruleX([whole], { stroke: "var(--c2)", strokeDasharray: "4" }),
          Plot.ruleY(rows, { y: "label", x1: "low", x2: "high", stroke: "var(--c1)", strokeWidth: 2.5, strokeOpacity: 0.6 }),
          Plot.dot(rows, { y: "label", x: "mean", fill: "var(--c1)", r: 5 }),
          Plot.tip(rows, Plot.pointerY({ y: "label", x: "mean", title: (d) => `${d.label}\n${d.n.toLocaleString("en")} rows\nmean ${number(d.mean)}` })),
        ],
      }),
      rows.map((row) => ({ slice: row.label, rows: row.n, mean: row.mean, low: row.low, high: row.high })),
    );
  };
  choose(controls("slices-control"), "Column", columns.map((one) => one.name), show);
  show(0);
}

export function fairness({ columns }) {
  columns.forEach(({ measures, groups }, i) => {
    const rows = groups.flatMap(({ label, values }) => measures.map((measure, j) => ({ group: label, measure, value: values[j] })));
    const labels = groups.map((group) => group.label);
    draw(
      `fairness-${i}`,
      (width) => ({
        height: measures.length * (18 * labels.length + 30) + 60,
        marginLeft: labelMargin(labels, width, 20),
        marginRight: 20,
        fy: { domain: measures, label: null, axis: null, paddingInner: 0.22 },
        x: { grid: true, label: null },
        y: { domain: labels, label: null, tickFormat: bandLabel(width, 20) },
        color: { domain: labels, range: ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"] },
        marks: [
          Plot.barX(rows, { fy: "measure", y: "group", x: "value", fill: "group" }),
          Plot.text(rows, { fy: "measure", y: "group", x: "value", text: (d) => number(d.value, 3), textAnchor: "start", dx: 4, fill: "var(--muted)" }),
          Plot.text(measures, { fy: (d) => d, text: (d) => d, frameAnchor: "top-left", dy: -11, fontWeight: 600 }),
          Plot.ruleX([0], { stroke: "var(--muted)" }),
        ],
      }),
      rows,
    );
  });
}

export function drift({ columns }) {
  const show = (i) => {
    const { labels, reference, current } = columns[i];
    const rows = labels.flatMap((label, j) => [
      { bin: label, table: "reference", fraction: reference[j] },
      { bin: label, table: "this report", fraction: current[j] },
    ]);
    draw(
      "drift",
      (width) => ({
        height: 50 + labels.length * 34,
        marginLeft: labelMargin(labels, width),
        color: { legend: true, domain: ["reference", "this report"], range: ["var(--muted)", "var(--c1)"] },
        x: { grid: true, label: "fraction of rows", tickFormat: "%" },
        fy: { domain: labels, label: null, tickFormat: bandLabel(width), axis: "left" },
        y: { axis: null, domain: ["reference", "this report"] },
        marks: [Plot.barX(rows, { x: "fraction", y: "table", fy: "bin", fill: "table" }), Plot.tip(rows, Plot.pointerY({ x: "fraction", y: "table", fy: "bin", title: (d) => `${d.bin}, ${d.table}: ${(100 * d.fraction).toFixed(1)}%` }))],
      }),
      rows,
    );
  };
  choose(controls("drift-control"), "Column", columns.map((one) => `${one.name} (PSI ${number(one.psi, 3)})`), show);
  show(0);
}
