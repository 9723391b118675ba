import { choose, controls, draw, make, bandLabel } from "../page.js";
import * as Plot from "../plot.js";
import { formatValue, number } from "../forest.js";
import { typed } from "../decode.js";
import { axisFormat } from "./columns.js";

const SHOWN = 12; // controls at first

/** Single predictions: choose a row, change its values. */
export function whatIf(data, forest, onchange) {
  const width = forest.columns.length;
  const values = typed(data.rows.values);
  let example = 0;
  let row = [];
  let first = []; // raw predictions of the chosen row
  let focus = data.order[0]; // column of the chart
  let all = false;
  const place = controls("what-if-row");
  choose(place, "Row", data.numbers.map((n) => `row ${n}`), (i) => load(i));
  place.append(make("button", { type: "button", onclick: () => load(example) }, "Reset"));

  function load(i) {
    example = i;
    row = Array.from(values.subarray(i * width, (i + 1) * width));
    first = forest.raw(row);
    fields();
    update();
  }

  /** Outputs with names: probabilities of classes, or predictions. */
  function outputs(raw) {
    const predicted = forest.predict(raw);
    if (data.classes && predicted.length === 1) return [{ name: data.classes[0], value: 1 - predicted[0] }, { name: data.classes.at(-1), value: predicted[0] }];
    return predicted.map((value, i) => ({ name: data.labels[i], value }));
  }

  function update() {
    const raw = forest.raw(row);
    const before = outputs(first);
    const now = outputs(raw);
    const result = document.getElementById("what-if-result");
    const shown = data.classes ? now.map((one, i) => ({ ...one, was: before[i].value })).sort((a, b) => b.value - a.value).slice(0, 8) : now.map((one, i) => ({ ...one, was: before[i].value }));
    const format = (value) => (data.classes ? `${(100 * value).toFixed(1)}%` : number(value, 6));
    result.replaceChildren(
      ...shown.map(({ name, value, was }) =>
        make(
          "div",
          { class: "outcome", "data-output": name, "data-value": String(value) },
          make("span", { class: "name" }, name),
          make("strong", {}, format(value)),
          data.classes ? make("meter", { min: 0, max: 1, value, "aria-label": name }) : null,
          Math.abs(value - was) > 1e-12 ? make("span", { class: "was" }, `was ${format(was)}`) : null,
        ),
      ),
    );
    result.dataset.raw = Array.from(raw).join(" ");
    curve();
    onchange?.(row);
  }

  function curve() {
    const column = forest.columns[focus];
    const many = column.kind === "category" || column.kind === "bool";
    const grid = column.kind === "category" ? column.codes.slice(0, 30) : column.kind === "bool" ? [0, 1] : Array.from({ length: 81 }, (_, i) => column.low + ((column.high - column.low) * i) / 80);
    const rows = grid.flatMap((value) => {
      const changed = row.slice();
      changed[focus] = value;
      return outputs(forest.raw(changed))
        .slice(data.classes && data.classes.length === 2 ? 1 : 0)
        .slice(0, 8)
        .map(({ name, value: prediction }) => ({ x: many ? formatValue(value, column) : value, prediction, output: name }));
    });
    const several = new Set(rows.map((one) => one.output)).size > 1;
    const here = outputs(forest.raw(row)).slice(data.classes && data.classes.length === 2 ? 1 : 0).slice(0, 8).map(({ name, value }) => ({ x: many ? formatValue(row[focus], column) : row[focus], prediction: value, output: name })).filter((one) => many || !Number.isNaN(one.x));
    draw(
      "what-if",
      () => ({
        height: 280,
        marginLeft: 56,
        marginBottom: many ? 64 : 42,
        color: { legend: several, range: ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"] },
        x: many ? { type: "point", label: column.name, tickRotate: -30, tickFormat: bandLabel(300, 14), padding: 0.5 } : { type: "linear", label: column.name, ticks: 5, tickFormat: axisFormat(column.kind) },
        y: { grid: true, label: data.classes ? (data.classes.length === 2 ? `probability of ${data.classes[1]}` : "probability") : "prediction", zero: false },
        marks: [
          many ? Plot.dot(rows, { x: "x", y: "prediction", fill: "output", r: 5 }) : Plot.line(rows, { x: "x", y: "prediction", stroke: "output", strokeWidth: 2, curve: "step-after" }),
          Plot.dot(here, { x: "x", y: "prediction", stroke: "var(--text)", strokeWidth: 2, r: 6 }),
          Plot.tip(rows, Plot.pointerX({ x: "x", y: "prediction", title: (d) => `${d.output}\n${column.name} = ${many ? d.x : formatValue(d.x, column)}\n${number(d.prediction)}` })),
        ],
      }),
      rows.map((one) => ({ [column.name]: one.x, output: one.output, prediction: one.prediction })),
    );
    document.querySelector('[data-chart="what-if"] figcaption').textContent = `Prediction by ${column.name}; other columns as chosen`;
  }

  function fields() {
    const place = document.getElementById("what-if-values");
    const shown = all ? data.order : data.order.slice(0, SHOWN);
    place.replaceChildren(...shown.map(field));
    if (data.order.length > SHOWN) {
      const text = all ? "Fewer columns" : `All ${data.order.length} columns`;
      place.append(
        make("button", {
          type: "button",
          onclick: () => {
            all = !all;
            fields();
          },
        }, text),
      );
    }
  }

  function set(i, value) {
    row[i] = value;
    focus = i;
    update();
  }

  /** Returns the control of a column. */
  function field(i) {
    const column = forest.columns[i];
    const id = `value-${i}`;
    const label = make("label", { for: id }, column.name);
    const focused = () => {
      if (focus !== i) {
        focus = i;
        curve();
      }
    };
    if (column.kind === "category" || column.kind === "bool") {
      const codes = column.kind === "bool" ? [0, 1] : column.codes;
      const missing = column.kind === "bool" ? NaN : -1;
      const texts = column.kind === "bool" ? ["false", "true"] : column.levels;
      const at = codes.indexOf(row[i]);
      const select = make("select", { id, onfocus: focused }, make("option", { value: "", selected: at < 0 }, "missing or another level"), ...codes.map((code, j) => make("option", { value: j, selected: j === at }, texts[j])));
      select.addEventListener("change", () => set(i, select.value === "" ? missing : codes[Number(select.value)]));
      return make("div", { class: "field" }, label, select);
    }
    const dated = column.kind === "datetime";
    const scale = dated || column.kind === "duration" ? 1e6 : 1;
    label.append(dated && column.zone ? " (UTC)" : column.kind === "duration" ? " (seconds)" : "");
    const text = (value) => (Number.isNaN(value) ? "" : dated ? new Date(value / 1000).toISOString().slice(0, 19) : String(Number((value / scale).toPrecision(6))));
    const box = make("input", { id, type: dated ? "datetime-local" : "number", step: dated ? 1 : "any", placeholder: "missing", onfocus: focused, value: text(row[i]) });
    const step = (column.high - column.low) / scale / 200 || 1;
    const range = make("input", {
      type: "range",
      "aria-label": `${column.name}, slider`,
      min: column.low / scale,
      max: column.high / scale,
      step: dated || (column.whole && scale === 1) ? Math.max(1, Math.round(step)) : step,
      value: (Number.isNaN(row[i]) ? column.low : row[i]) / scale,
      onfocus: focused,
    });
    box.addEventListener("input", () => {
      const value = box.value === "" ? NaN : dated ? Date.parse(`${box.value}Z`) * 1000 : Number(box.value) * scale;
      if (!Number.isNaN(value)) range.value = value / scale;
      set(i, value);
    });
    range.addEventListener("input", () => {
      const value = Number(range.value) * scale;
      box.value = text(value);
      set(i, value);
    });
    return make("div", { class: dated ? "field dated" : "field" }, label, box, range);
  }

  load(0);
  return { load };
}
