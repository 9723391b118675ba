import { controls, choose, draw, make } from "../page.js";
import { number } from "../forest.js";

const LINE = 30;
const SVG = "http://www.w3.org/2000/svg";
const LEVELS = 4;

function shape(tag, attributes, ...children) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
}

/** Explorer of single trees. Returns a function that shows the path of a row. */
export function trees({ labels }, forest) {
  let tree = 0;
  let depth = LEVELS;
  let row = null;
  const open = new Set(); // nodes that the user opened
  const place = controls("tree-control");
  const input = make("input", { type: "number", min: 1, max: forest.nTrees, value: 1, id: "tree-number" });
  const step = (by) => () => {
    input.value = Math.min(forest.nTrees, Math.max(1, tree + 1 + by));
    input.dispatchEvent(new Event("change"));
  };
  input.addEventListener("change", () => {
    const wanted = Math.round(Number(input.value));
    tree = Math.min(forest.nTrees, Math.max(1, Number.isFinite(wanted) ? wanted : 1)) - 1;
    input.value = tree + 1;
    open.clear();
    show();
  });
  place.append(
    make(
      "span",
      { class: "control" },
      make("label", { for: "tree-number" }, "Tree"),
      make("button", { type: "button", onclick: step(-1), "aria-label": "Previous tree" }, "‹"),
      input,
      make("button", { type: "button", onclick: step(1), "aria-label": "Next tree" }, "›"),
      make("span", {}, ` of ${forest.nTrees}`),
    ),
  );
  choose(place, "Levels", ["2", "3", "4", "6", "all"], (i) => {
    depth = [2, 3, 4, 6, 1000][i];
    open.clear();
    show();
  }, 2);
  const about = make("p", { class: "note", role: "status" });
  place.append(about);

  function show() {
    const round = Math.floor(tree / forest.treesPerRound) + 1;
    const output = forest.nOutputs > 1 && !forest.shared ? `, ${labels[tree % forest.nOutputs]}` : "";
    about.textContent = `Round ${round}${output}. Select a node to open or close its branches.${row ? " The path of the row of “What if” is marked." : ""}`;
    draw("tree", () => drawTree(), () => listNodes());
  }

  /** Visible nodes with their places, in the order of the leaves. */
  function layout() {
    const nodes = [];
    let line = 0;
    const visit = (node, level) => {
      const inner = forest.feature[node] >= 0;
      const closed = inner && (open.has(node) ? level < depth : level >= depth);
      const one = { node, level, inner, closed };
      nodes.push(one);
      if (inner && !closed) {
        const left = visit(node + 1, level + 1);
        const right = visit(forest.right[node], level + 1);
        one.children = [left, right];
        one.y = (left.y + right.y) / 2;
      } else {
        one.y = (line + 0.5) * LINE;
        line += 1;
      }
      return one;
    };
    visit(forest.begin[tree], 0);
    return { nodes, height: line * LINE };
  }

  function text({ node, inner, closed }) {
    if (closed) return `${forest.question(node)} …`;
    return inner ? forest.question(node) : forest.leafValues(node).slice(0, 4).map((value) => (value >= 0 ? "+" : "") + number(value, 3)).join(", ");
  }

  function describe(one) {
    const rows = forest.count ? `, ${forest.count[one.node].toLocaleString("en")} training rows` : "";
    const gain = one.inner && forest.gain ? `, gain ${number(forest.gain[one.node], 3)}` : "";
    return `${one.inner ? "condition" : "leaf"} ${text(one)}${rows}${gain}`;
  }

  function drawTree() {
    const { nodes, height } = layout();
    const levels = Math.max(...nodes.map((one) => one.level)) + 1;
    const widths = Array.from({ length: levels }, (_, level) => Math.max(...nodes.filter((one) => one.level === level).map((one) => text(one).length * 7 + 22)));
    const begins = widths.reduce((out, width) => [...out, out.at(-1) + width + 64], [6]);
    const total = begins.at(-1);
    const path = row ? new Set(forest.path(tree, forest.encode(row))) : new Set();
    const root = forest.begin[tree];
    const biggest = Math.max(...nodes.filter((one) => !one.inner).map((one) => Math.abs(forest.leafValues(one.node)[0])), 1e-300);
    const svg = shape("svg", { width: total, height: Math.max(height, 60), viewBox: `0 0 ${total} ${Math.max(height, 60)}`, role: "group", "aria-label": `Tree ${tree + 1}`, class: "tree" });
    for (const one of nodes) {
      for (const [side, child] of (one.children ?? []).entries()) {
        const [x1, x2] = [begins[one.level] + widths[one.level], begins[child.level]];
        const fraction = forest.count ? forest.count[child.node] / Math.max(1, forest.count[root]) : 0.2;
        const on = path.has(one.node) && path.has(child.node);
        svg.append(shape("path", { d: `M${x1},${one.y} h14 V${child.y} H${x2}`, class: on ? "branch on" : "branch", "stroke-width": (0.8 + 4 * fraction).toFixed(1) }));
        const marked = forest.features[forest.feature[one.node]].missing; // there were missing values in training
        if (marked && side === (forest.missingLeft[one.node] ? 0 : 1)) svg.append(shape("text", { x: x1 + 19, y: child.y - 4, class: "missing" }, "missing"));
      }
    }
    for (const one of nodes) {
      const [x, width] = [begins[one.level], widths[one.level]];
      const group = shape("g", { class: `node${one.inner ? " inner" : " leaf"}${path.has(one.node) ? " on" : ""}`, transform: `translate(${x},${one.y - 11})`, "aria-label": describe(one) });
      const value = one.inner ? 0 : forest.leafValues(one.node)[0] / biggest;
      const fill = one.inner ? {} : { style: `fill: color-mix(in srgb, var(${value >= 0 ? "--c2" : "--c1"}) ${Math.round(12 + 38 * Math.abs(value))}%, var(--page))` };
      group.append(shape("title", {}, describe(one)), shape("rect", { width, height: 22, rx: 5, ...fill }), shape("text", { x: 9, y: 15 }, text(one)));
      if (one.inner) {
        group.setAttribute("tabindex", "0");
        group.setAttribute("role", "button");
        group.setAttribute("aria-expanded", String(!one.closed));
        const toggle = () => {
          open.has(one.node) ? open.delete(one.node) : open.add(one.node);
          show();
          document.querySelector(`#plot-tree [data-node="${one.node}"]`)?.focus();
        };
        group.dataset.node = one.node;
        group.addEventListener("click", toggle);
        group.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            toggle();
          }
        });
      }
      svg.append(group);
    }
    return make("div", { class: "scroll tree-scroll", tabindex: "0", role: "region", "aria-label": `Tree ${tree + 1}` }, svg);
  }

  function listNodes() {
    const out = [];
    const visit = (node, level, way) => {
      const inner = forest.feature[node] >= 0;
      out.push({ level, branch: way, node: text({ node, inner }), rows: forest.count ? forest.count[node] : "", gain: inner && forest.gain ? forest.gain[node] : "" });
      if (inner) {
        visit(node + 1, level + 1, "yes");
        visit(forest.right[node], level + 1, "no");
      }
    };
    visit(forest.begin[tree], 0, "");
    return out;
  }

  show();
  return (values) => {
    row = values;
    show();
  };
}
