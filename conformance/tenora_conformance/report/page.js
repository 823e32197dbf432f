"use strict";
// The report's page: filters over columns of numbers, a list that draws only what is in view, a table of ops and dtypes.
// Every text enters by textContent. The filters stand in the address behind "#", so that a view can be sent as a link.
const data = JSON.parse(document.getElementById("data").textContent);
const { report, words, columns, failures } = data;
const total = columns.op.length;
const PASS = words.status.indexOf("PASS");
const ROW = 26;
const filters = { status: "", level: "", check: "", op: "", dtype: "", text: "" };
let shown = [];
let selected = -1;

const byId = (id) => document.getElementById(id);

function make(tag, text, attributes) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  return element;
}

function table(header, rows) {
  const made = make("table");
  const head = made.createTHead().insertRow();
  for (const title of header) head.append(make("th", title));
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) line.append(make("td", cell));
  }
  return made;
}

const nameOf = (i) =>
  [words.op[columns.op[i]], words.dtype[columns.dtype[i]], words.layout[columns.layout[i]],
    words.sample[columns.sample[i]]].join("/");
const isGood = (i) => columns.status[i] === PASS;
const errorOf = (i) => (columns.worst[i] === 0 ? "exact" : `worst error ${columns.worst[i]} of its tolerance`);
const numberOf = (name, word) => words[name].indexOf(word);

// ---- filters

// The numbers of the cases that pass the filters; what is no pass comes first.
function matching() {
  const wanted = {};
  for (const name of ["status", "check", "op", "dtype"]) {
    if (filters[name]) wanted[name] = numberOf(name, filters[name]);
  }
  if (filters.level) wanted.level = Number(filters.level.slice(1));
  const text = filters.text.toLowerCase();
  const bad = [];
  const found = [];
  outer: for (let i = 0; i < total; i++) {
    for (const name in wanted) if (columns[name][i] !== wanted[name]) continue outer;
    if (text) {
      const said = failures[i] ? failures[i].message : "";
      if (!nameOf(i).toLowerCase().includes(text) && !said.toLowerCase().includes(text)) continue;
    }
    (isGood(i) ? found : bad).push(i);
  }
  return bad.concat(found);
}

function readAddress() {
  const told = new URLSearchParams(location.hash.slice(1));
  for (const name in filters) filters[name] = told.get(name) || "";
  const wanted = told.get("case");
  apply();
  if (wanted) select(shown.find((i) => nameOf(i) === wanted));
}

function writeAddress() {
  const told = new URLSearchParams();
  for (const name in filters) if (filters[name]) told.set(name, filters[name]);
  if (selected >= 0) told.set("case", nameOf(selected));
  history.replaceState(null, "", "#" + told.toString());
}

function set(name, value) {
  filters[name] = value;
  apply();
  writeAddress();
}

function apply() {
  for (const name of ["level", "check", "op", "dtype", "text"]) {
    if (byId(name).value !== filters[name]) byId(name).value = filters[name];
  }
  for (const button of byId("statuses").children) {
    button.setAttribute("aria-pressed", String(button.dataset.status === filters.status));
  }
  shown = matching();
  if (!shown.includes(selected)) select(undefined);
  byId("count").textContent = `${shown.length} of ${total} cases`;
  byId("list").scrollTop = 0;
  byId("spacer").style.height = `${shown.length * ROW}px`;
  drawList();
  drawMatrix();
}

function options(id, values, all) {
  byId(id).append(make("option", all, { value: "" }));
  for (const value of values) byId(id).append(make("option", value, { value }));
  byId(id).addEventListener("change", () => set(id, byId(id).value));
}

function setUpFilters() {
  const counts = new Array(words.status.length).fill(0);
  for (const status of columns.status) counts[status]++;
  words.status.forEach((status, k) => {
    const button = make("button", `${status} ${counts[k]}`, { type: "button", "data-status": status });
    button.className = status === "PASS" ? "good" : "bad";
    button.addEventListener("click", () => set("status", filters.status === status ? "" : status));
    byId("statuses").append(button);
  });
  options("level", Object.keys(report.levels), "all");
  options("check", [...words.check].sort(), "all");
  options("dtype", [...words.dtype].sort(), "all");
  for (const op of [...words.op].sort()) byId("ops").append(make("option", undefined, { value: op }));
  byId("op").addEventListener("input", () => {
    const op = byId("op").value;
    if (op === "" || numberOf("op", op) >= 0) set("op", op);
  });
  byId("text").addEventListener("input", () => set("text", byId("text").value));
  byId("clear").addEventListener("click", () => {
    for (const name in filters) filters[name] = "";
    apply();
    writeAddress();
  });
}

// ---- the list: only the rows in view are elements

function drawList() {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
  const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 10);
  const rows = [byId("spacer")];
  for (let k = first; k < last; k++) rows.push(drawRow(k));
  list.replaceChildren(...rows);
}

function drawRow(k) {
  const i = shown[k];
  const row = make("div", undefined, { class: "case", role: "option", "aria-selected": String(i === selected) });
  row.style.top = `${k * ROW}px`;
  const status = make("span", words.status[columns.status[i]]);
  status.className = isGood(i) ? "status good" : "status bad";
  const told = failures[i] ? failures[i].message : `${columns.milliseconds[i]} ms, ${errorOf(i)}`;
  const name = make("span", nameOf(i));
  name.className = "name mono";
  const said = make("span", told);
  said.className = "said";
  row.append(status, name, said);
  row.addEventListener("click", () => select(i));
  return row;
}

function select(i) {
  selected = i === undefined ? -1 : i;
  drawDetail();
  drawList();
  writeAddress();
}

function move(step) {
  const k = shown.indexOf(selected) + step;
  if (k < 0 || k >= shown.length) return;
  const list = byId("list");
  if (k * ROW < list.scrollTop) list.scrollTop = k * ROW;
  if ((k + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (k + 1) * ROW - list.clientHeight;
  select(shown[k]);
}

// ---- one case

function drawDetail() {
  const detail = byId("detail");
  if (selected < 0) {
    detail.replaceChildren(make("p", "Choose a case."));
    return;
  }
  const i = selected;
  const told = failures[i] || {};
  const head = make("h3", nameOf(i));
  const facts = `${words.status[columns.status[i]]}, L${columns.level[i]}, check ${words.check[columns.check[i]]}, ` +
    `${columns.milliseconds[i]} ms, ${errorOf(i)}`;
  detail.replaceChildren(head, make("p", facts));
  part(detail, "Message", told.message);
  part(detail, "Stands on", told.root);
  part(detail, "Waiver", told.waiver);
  part(detail, "Call", told.call);
  (told.inputs || []).forEach((input, k) => part(detail, `Input ${k}`, input));
  part(detail, "Expected", told.expected);
  part(detail, "Got", told.got);
  part(detail, "First wrong element", told.first_wrong);
  part(detail, "Traceback", told.traceback);
  copied(detail, "Reproduce", `${data.explain}'${nameOf(i)}'`);
  copied(detail, "As a program", told.program);
}

function copied(detail, title, text) {
  if (!part(detail, title, text)) return;
  const copy = make("button", "Copy", { type: "button" });
  copy.addEventListener("click", () => copyText(text, copy));
  detail.append(copy);
}

function part(detail, title, text) {
  if (!text) return null;
  const block = make("pre", text);
  detail.append(make("h4", title), block);
  return block;
}

function copyText(text, button) {
  const field = make("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  button.textContent = document.execCommand("copy") ? "Copied" : "Select it and copy";
  field.remove();
}

// ---- ops and dtypes

function drawMatrix() {
  const width = words.dtype.length;
  const counts = new Uint32Array(words.op.length * width);
  const bad = new Uint32Array(counts.length);
  for (const i of shown) {
    const cell = columns.op[i] * width + columns.dtype[i];
    counts[cell]++;
    if (!isGood(i)) bad[cell]++;
  }
  const made = make("table");
  const dtypes = [...words.dtype].sort();
  made.style.width = `${15 + 6.5 * width}rem`; // columns of fixed width are laid out quickly
  const head = made.createTHead().insertRow();
  for (const title of ["op", ...dtypes]) head.append(make("th", title));
  const body = made.createTBody();
  for (const op of [...words.op].sort()) {
    const row = matrixRow(op, dtypes, counts, bad);
    if (row) body.append(row);
  }
  byId("matrix").replaceChildren(made);
}

function matrixRow(op, dtypes, counts, bad) {
  const base = numberOf("op", op) * words.dtype.length;
  const row = make("tr");
  let any = false;
  row.append(make("th", op, { title: op }));
  for (const dtype of dtypes) {
    const cell = base + numberOf("dtype", dtype);
    const td = make("td", "", { class: "none" });
    if (counts[cell]) {
      any = true;
      td.className = bad[cell] ? "some" : "all";
      td.textContent = bad[cell] ? `${bad[cell]} of ${counts[cell]}` : counts[cell];
      td.title = `${op} ${dtype}: ${counts[cell] - bad[cell]} of ${counts[cell]} pass`;
      td.dataset.op = op;
      td.dataset.dtype = dtype;
    }
    row.append(td);
  }
  return any ? row : null;
}

function chooseCell(event) {
  const { op, dtype } = event.target.dataset;
  if (!op) return;
  filters.op = op;
  filters.dtype = dtype;
  apply();
  writeAddress();
}

// ---- what is said once

function drawHead() {
  const { backend, run, environment } = report;
  const verdict = report.met ? `meets ${report.met}` : "meets no level";
  document.title = `${backend.name} ${verdict}: tenora conformance`;
  byId("title").textContent = `${backend.name} ${verdict}`;
  byId("title").className = report.met === run.level ? "good" : "bad";
  byId("facts").textContent =
    `${backend.distribution} ${backend.version} on ${backend.device}; asked for ${run.level} of op set ` +
    `${environment.opset}; ${run.started}, ${Math.round(run.seconds)} s; Python ${environment.python}, ` +
    `${environment.system} ${environment.machine}, ${environment.processor || "unknown processor"}`;
  const rows = Object.entries(report.levels).map(([name, state]) => [
    name, state.met ? "met" : "not met", state.planned,
    Object.entries(state.counts).map(([status, count]) => `${count} ${status}`).join(", ") || "none", state.why,
  ]);
  byId("levels").replaceWith(Object.assign(table(["level", "", "planned", "results", "why not"], rows), { id: "levels" }));
}

function more(title, header, rows) {
  if (!rows.length) return;
  const block = make("details");
  block.append(make("summary", `${title} (${rows.length})`), table(header, rows));
  byId("more").append(block);
}

function drawMore() {
  more("Left out, by what is not declared", ["reason", "cases"], Object.entries(report.left_out));
  more("Waivers", ["waiver"], report.waivers.map((waiver) => [JSON.stringify(waiver)]));
  more("Stand-ins that were used", ["op", "backend", "calls"], report.fallbacks);
  const kernels = Object.entries(report.provenance).flatMap(([backend, calls]) =>
    Object.entries(calls).map(([kernel, count]) => [backend, kernel, count]));
  more("Kernels that ran", ["backend", "kernel", "calls"], kernels);
  more("Environment", ["what", "is"], Object.entries(report.environment));
  more("Seeds", ["of", "seed"], Object.entries(report.run.seeds));
  more("Distributions", ["name", "version", "kind", "digest"],
    report.distributions.map((each) => [each.name, each.version, each.kind, each.digest]));
  byId("more").append(make("p", `Digest of this report: ${report.digest}`));
}

drawHead();
setUpFilters();
drawMore();
readAddress();
addEventListener("hashchange", readAddress);
byId("list").addEventListener("scroll", drawList);
byId("list").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    move(step);
  }
});
byId("matrix").addEventListener("click", chooseCell);
