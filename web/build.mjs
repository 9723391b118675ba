// Bundles the script and the styles of the report into src/sapwood/report/assets. `make page` runs it.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "../src/sapwood/report/assets");

// Hash of the sources and of the lock file. A test compares it with the one in the bundle.
function sourceHash() {
  const files = readdirSync(join(here, "src"), { recursive: true }).filter((name) => /\.(js|css)$/.test(name));
  const names = [...files.map((name) => `src/${name}`), "package-lock.json"].sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\n`).update(readFileSync(join(here, name)));
  return hash.digest("hex");
}

// Licences of the packages that are part of the bundle.
function licences(inputs) {
  const folders = new Set();
  for (const path of Object.keys(inputs)) {
    const found = path.match(/^(node_modules\/(?:@[^/]+\/)?[^/]+)\//);
    if (found) folders.add(found[1]);
  }
  return [...folders].sort().map((folder) => {
    const about = JSON.parse(readFileSync(join(here, folder, "package.json")));
    const file = readdirSync(join(here, folder)).find((name) => /^licen[cs]e/i.test(name));
    return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
  });
}

mkdirSync(assets, { recursive: true });
const options = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none", absWorkingDir: here, metafile: true, write: false };
const script = await build({ ...options, entryPoints: ["src/main.js"], format: "iife" });
const style = await build({ ...options, entryPoints: ["src/report.css"] });
const text = script.outputFiles[0].text.replaceAll("</script", "<\\/script");
writeFileSync(join(assets, "report.js"), `/* sources ${sourceHash()} */${text.trim()}\n`);
writeFileSync(join(assets, "report.css"), style.outputFiles[0].text);
writeFileSync(join(assets, "LICENSES.txt"), `The script of the report contains these packages.\n\n${licences(script.metafile.inputs).join(`\n${"-".repeat(80)}\n\n`)}`);
