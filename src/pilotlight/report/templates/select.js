// One choice for the whole page: a step, which the network, the arena and the table of operators each show.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const find = (query, from = document) => from.querySelector(query);
const all = (query, from = document) => [...from.querySelectorAll(query)];
const number = (value) => value === null || value === undefined ? "-" : value.toLocaleString("en");

const writer = new Map(); // buffer -> the step that writes it
for (const row of data.rows) {
  for (const value of row.writes) writer.set(value.buffer, row.index);
  if (row.scratch) writer.set(row.scratch, row.index);
}

const choice = { step: null, watchers: [] };

// `from` is the part of the page that was clicked, which does not scroll itself.
function choose(step, from) {
  choice.step = step === choice.step ? null : step;
  for (const watcher of choice.watchers) watcher(choice.step, from);
  describe(choice.step);
}

function facts(list) {
  const dl = document.createElement("dl");
  for (const [name, value] of list) {
    if (value === null || value === undefined || value === "") continue;
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    dl.append(term, text);
  }
  return dl;
}

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function place(buffer) {
  const known = data.buffers[buffer];
  return known ? `${number(known[1])} bytes from byte ${number(known[0])}` : "in the state";
}

function describe(step) {
  const panel = find("#panel");
  if (step === null) {
    panel.replaceChildren(element("p", "Choose a step to see what it reads, writes and costs.", "where"));
    return;
  }
  const row = data.rows[step], out = row.writes[0];
  const quant = out && out.scale !== null ? `${Number(out.scale).toPrecision(6)}, zero point ${out.zero_point}` : null;
  const reads = row.reads.map((name) => writer.has(name) ? `step ${writer.get(name)}` : `input or state ${name}`);
  const go = element("div", "", "go");
  for (const [text, target] of [["Show operator", `#operators tr[data-step="${step}"]`], ["Show in arena", "#memory"]]) {
    const button = element("button", text);
    button.type = "button";
    button.onclick = () => find(target).scrollIntoView({ block: "center" });
    go.append(button);
  }
  panel.replaceChildren(
    element("h3", row.what),
    element("p", [`step ${step}`, row.module, row.source].filter(Boolean).join(", "), "where"),
    facts([
      ["type", row.type.replace("->", "→")], ["shapes", row.shapes.replace("->", "→")], ["reads", reads.join(", ")],
      ["writes", row.writes.map((value) => place(value.buffer)).join("; ")], ["scale", quant],
      ["scratch", row.scratch ? place(row.scratch) : null],
      ["instructions", row.instructions === null ? null : `${number(row.instructions)}, ${row.share}`],
      ["cycles", row.cycles === null ? null : `${number(row.cycles)}, estimated`],
      ["MACs", row.macs ? number(row.macs) : null], ["per MAC", row.per_mac === "-" ? null : row.per_mac],
      ["weights", row.weights ? `${number(row.weights)} bytes` : null],
    ]),
    go,
  );
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && choice.step !== null) choose(choice.step, "keyboard");
});
describe(null);
