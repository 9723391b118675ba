import { bandLabel, draw, labelMargin } from "../page.js";
import * as Plot from "../plot.js";

export function data({ histograms, target }) {
  for (const place of document.querySelectorAll(".spark")) {
    const { edges, levels, counts } = histograms[place.dataset.column];
    if (!counts.length) continue;
    const rows = counts.map((count, i) => ({ count, i, from: edges ? edges[i] : i, to: edges ? edges[i + 1] : i + 1 }));
    const plot = Plot.plot({
      width: 120,
      height: 28,
      margin: 0,
      axis: null,
      style: { background: "none" },
      x: { domain: edges ? [edges[0], edges.at(-1)] : [0, Math.max(counts.length, 6)] },
      marks: [Plot.rectY(rows, { x1: "from", x2: "to", y: "count", fill: levels ? "var(--c3)" : "var(--c1)", insetLeft: 0.5, insetRight: 0.5 })],
    });
    plot.setAttribute("aria-hidden", "true");
    place.replaceChildren(plot);
  }
  const search = document.getElementById("find-column");
  search?.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const row of document.querySelectorAll("#data tbody tr")) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
  if (target) histogram("target", target, "rows");
}

/** Draws counts of levels, or of ranges of numbers. */
export function histogram(name, { edges, levels, counts }, what, color = "var(--c1)") {
  if (levels) {
    const rows = levels.map((level, i) => ({ level, [what]: counts[i] }));
    draw(
      name,
      (width) => ({
        marginTop: 8,
        height: 54 + 24 * rows.length,
        marginLeft: labelMargin(levels, width),
        x: { grid: true, label: what },
        y: { domain: levels, label: null, tickFormat: bandLabel(width) },
        marks: [Plot.barX(rows, { x: what, y: "level", fill: color, tip: true }), Plot.ruleX([0], { stroke: "var(--muted)" })],
      }),
      rows,
    );
    return;
  }
  const rows = counts.map((count, i) => ({ from: edges[i], to: edges[i + 1], [what]: count }));
  draw(
    name,
    () => ({
      height: 240,
      marginLeft: 60,
      x: { label: null },
      y: { grid: true, label: what },
      marks: [Plot.rectY(rows, { x1: "from", x2: "to", y: what, fill: color, insetLeft: 0.5, insetRight: 0.5, tip: true }), Plot.ruleY([0], { stroke: "var(--muted)" })],
    }),
    rows,
  );
}
