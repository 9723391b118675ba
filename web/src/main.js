// Entry point of the page: decodes the data and draws the sections.

import { unpack } from "./decode.js";
import { Forest } from "./forest.js";
import { redrawAll } from "./page.js";
import { dependence, importance, shap } from "./sections/columns.js";
import { data as dataSection } from "./sections/data.js";
import { errors } from "./sections/errors.js";
import { drift, fairness, slices } from "./sections/groups.js";
import { calibration, learning, scores } from "./sections/scores.js";
import { trees } from "./sections/trees.js";
import { whatIf } from "./sections/what_if.js";
import { followTraining } from "./live.js";

const SECTIONS = { data: dataSection, scores, learning, calibration, errors, importance, shap, dependence, slices, fairness, drift };

function has(data, name) {
  return data.sections[name] && Object.keys(data.sections[name]).length > 0;
}

/** Draws the sections that have data. One that fails does not stop the others. */
function drawSections(data) {
  const failed = [];
  const attempt = (name, draw) => {
    try {
      draw();
    } catch (error) {
      failed.push(name);
      console.error(`section ${name}`, error);
    }
  };
  for (const [name, draw] of Object.entries(SECTIONS)) if (has(data, name)) attempt(name, () => draw(data.sections[name]));
  let forest = null;
  if (data.forest) {
    attempt("forest", () => {
      forest = new Forest(data.forest);
    });
  }
  if (forest) {
    let follow = null;
    if (has(data, "trees")) attempt("trees", () => (follow = trees(data.sections.trees, forest)));
    if (has(data, "what-if")) attempt("what-if", () => whatIf(data.sections["what-if"], forest, follow));
  }
  return { forest, failed };
}

function prepareTheme() {
  const button = document.getElementById("theme");
  const dark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colors`);
  };
  button?.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

function prepareMenu() {
  const menu = document.querySelector("nav details");
  if (matchMedia("(max-width: 900px)").matches) menu.open = false;
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        for (const [id, link] of links) id === target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  for (const id of links.keys()) seen.observe(document.getElementById(id));
}

function redrawOnResize() {
  let width = document.documentElement.clientWidth;
  let timer;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    clearTimeout(timer);
    timer = setTimeout(redrawAll, 150);
  });
}

async function start() {
  prepareTheme();
  prepareMenu();
  const data = await unpack(document.getElementById("report-data").textContent);
  const { forest, failed } = drawSections(data);
  redrawOnResize();
  if (data.live) followTraining(data, drawSections);
  // For tests and for use from the console: sapwood.forest.predict(sapwood.forest.raw(row)).
  globalThis.sapwood = { data, forest, Forest };
  document.documentElement.dataset.ready = failed.length ? `failed: ${failed.join(", ")}` : "true";
}

start().catch((error) => {
  console.error(error);
  document.documentElement.dataset.ready = "failed";
});
