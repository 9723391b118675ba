// Charts, controls and tables of the page. Text is only ever set as text, never as HTML.

import * as Plot from "./plot.js";
import { short } from "./forest.js";

export const COLORS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)"];
const ROWS_LISTED = 300;
const charts = new Map();

/** Returns a new element with attributes and children (texts or elements). */
export function make(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (value === true) found.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) found.setAttribute(name, value);
  }
  found.append(...children.filter((child) => child !== null && child !== undefined));
  return found;
}

/** Draws a chart at its place, now and whenever the width of the page changes; `rows`, objects, are the table behind it. */
export function draw(name, options, rows) {
  const figure = document.querySelector(`[data-chart="${name}"]`);
  if (!figure) return;
  charts.set(name, () => drawAt(figure, options));
  drawAt(figure, options);
  if (rows) attachTable(figure, rows);
}

function drawAt(figure, options) {
  const place = figure.querySelector(".plot");
  const width = Math.max(260, Math.floor(place.clientWidth || 640));
  const caption = figure.querySelector("figcaption").textContent;
  const found = options(width);
  const plot = found instanceof Element ? found : Plot.plot({ width, marginTop: 28, marginBottom: 42, marginLeft: 52, style: { background: "none", fontSize: "12px" }, ariaLabel: caption, ...found });
  const image = plot.matches("svg") ? plot : plot.querySelector(":scope > svg:last-of-type");
  if (image && !image.hasAttribute("role")) image.setAttribute("role", "img");
  place.replaceChildren(plot);
}

export function redrawAll() {
  for (const redraw of charts.values()) redraw();
}

/** Adds the numbers of a chart as a table, which is made when it is opened. It stays open, and keeps the focus, if the chart is drawn again. */
function attachTable(figure, rows) {
  const before = figure.querySelector("details.numbers");
  const [open, focused] = [before?.open, before?.contains(document.activeElement)];
  before?.remove();
  const details = make("details", { class: "numbers" }, make("summary", {}, "Show as a table"));
  details.addEventListener("toggle", () => {
    details.querySelector(".scroll")?.remove();
    if (details.open) details.append(tableOf(typeof rows === "function" ? rows() : rows, figure.querySelector("figcaption").textContent));
  });
  figure.append(details);
  if (open) details.open = true;
  if (focused) details.querySelector("summary").focus();
}

export function tableOf(rows, caption) {
  const names = Object.keys(rows[0] ?? {});
  const cell = (value) => (typeof value === "number" ? make("td", { class: "number" }, String(Number(value.toPrecision(6)))) : make("td", {}, String(value ?? "")));
  const body = rows.slice(0, ROWS_LISTED).map((row) => make("tr", {}, ...names.map((name) => cell(row[name]))));
  const more = rows.length > ROWS_LISTED ? ` (the first ${ROWS_LISTED} of ${rows.length} rows)` : "";
  const table = make(
    "table",
    {},
    make("caption", {}, `${caption}${more}`),
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...body),
  );
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

/** Returns the empty place of controls; null if the page has none. */
export function controls(id) {
  const place = document.getElementById(id);
  place?.replaceChildren();
  return place;
}

let nControls = 0;

/** Adds a labelled choice and returns its element. Values are positions of the options. */
export function choose(place, label, options, onchange, chosen = 0) {
  const id = `control-${++nControls}`;
  const select = make("select", { id }, ...options.map((text, i) => make("option", { value: i, selected: i === chosen }, short(text, 60))));
  select.addEventListener("change", () => onchange(Number(select.value)));
  place.append(make("span", { class: "control" }, make("label", { for: id }, label), select));
  return select;
}

/** Adds a labelled slider with a text that shows its value. */
export function slide(place, label, { min, max, step, value }, format, oninput) {
  const id = `control-${++nControls}`;
  const shown = make("output", { for: id }, format(value));
  const input = make("input", { id, type: "range", min, max, step, value });
  input.addEventListener("input", () => {
    shown.textContent = format(Number(input.value));
    oninput(Number(input.value));
  });
  place.append(make("span", { class: "control wide" }, make("label", { for: id }, label), input, shown));
  return input;
}

/** Left margin for labels of a band scale. */
export function labelMargin(labels, width, most = 28) {
  const longest = Math.max(...labels.map((text) => short(text, most).length), 4);
  return Math.min(Math.round(longest * 7.2 + 18), Math.round(width * 0.45));
}

export function bandLabel(width, most = 28) {
  return (text) => short(text, width < 460 ? Math.min(16, most) : most);
}

export { short };
