// The parts of Observable Plot that the page uses: the bundle contains nothing else of it.
export { barX, cell, dot, line, plot, pointer, pointerX, pointerY, rectY, ruleX, ruleY, text, tip } from "@observablehq/plot";
