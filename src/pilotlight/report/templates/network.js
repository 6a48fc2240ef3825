// The network: a tree of modules whose leaves are steps, drawn in layers; groups open and close.
"use strict";
(() => {
  const NODE = { w: 236, h: 42 }, PAD = 14, HEAD = 28, MARGIN = 18, FEW = 32;
  const SMALL = .8; // a wide drawing shrinks to this, then it is scrolled
  const svg = find(".canvas svg"), canvas = find(".canvas");

  // ---- the tree and what reads what ------------------------------------------------------------------------------
  const leaves = [];
  data.inputs.forEach((port, k) => leaves.push(
    { id: `in${k}`, order: -2 + k / 1000, path: [], port: "input", name: port.name, under: type(port) }));
  data.states.forEach((state, k) => { // in its module, right above the first step that reads it
    const path = state.name.split("."), reader = data.rows.find((row) => row.reads.includes(state.buffer));
    const order = (reader ? reader.index : 0) - .5 + k / 1000;
    leaves.push({ id: `state${k}`, order, path: path.slice(0, -1), port: "state", name: path.pop(), under: type(state) });
  });
  for (const row of data.rows) {
    leaves.push({ id: `step${row.index}`, order: row.index, path: row.module ? row.module.split(".") : [], row });
  }
  data.outputs.forEach((port, k) => leaves.push(
    { id: `out${k}`, order: data.rows.length + k, path: [], port: "output", name: port.name, under: type(port) }));
  const leafOf = new Map(leaves.map((leaf) => [leaf.id, leaf]));

  function type(port) { return `${port.shape.join(" × ") || "scalar"} ${port.dtype}`; }

  const maker = new Map(); // buffer -> leaf
  data.inputs.forEach((port, k) => maker.set(port.buffer, leafOf.get(`in${k}`)));
  data.states.forEach((state, k) => maker.set(state.buffer, leafOf.get(`state${k}`)));
  for (const row of data.rows) for (const value of row.writes) maker.set(value.buffer, leafOf.get(`step${row.index}`));
  const joined = [];
  const join = (buffer, to) => { if (maker.has(buffer) && maker.get(buffer) !== to) joined.push([maker.get(buffer), to]); };
  for (const row of data.rows) for (const buffer of row.reads) join(buffer, leafOf.get(`step${row.index}`));
  data.outputs.forEach((port, k) => join(port.buffer, leafOf.get(`out${k}`)));

  const root = group("", []);
  function group(name, path) { return { id: `group ${path.join(".")}`, name, path, inside: [], open: false }; }
  for (const leaf of leaves) {
    let at = root;
    leaf.path.forEach((part, k) => {
      let next = at.inside.find((item) => item.inside && item.name === part);
      if (!next) at.inside.push(next = group(part, leaf.path.slice(0, k + 1)));
      at = next;
    });
    at.inside.push(leaf);
  }
  squeeze(root);
  function squeeze(at) { // a group of one is that one
    at.inside = at.inside.map((item) => item.inside ? squeeze(item) : item);
    return at.inside.length === 1 && at !== root ? at.inside[0] : at;
  }
  function finish(at, above) {
    at.above = above;
    if (!at.inside) return;
    for (const item of at.inside) finish(item, at);
    at.inside.sort((a, b) => a.order - b.order);
    at.order = Math.min(...at.inside.map((item) => item.order));
    at.count = at.inside.reduce((sum, item) => sum + (item.inside ? item.count : item.row ? 1 : 0), 0);
    at.cost = at.inside.reduce((sum, item) => sum + (item.inside ? item.cost : item.row ? item.row.cost : 0), 0);
  }
  finish(root, null);
  const whole = root.cost || 1;
  root.open = true;

  // ---- which groups are open -------------------------------------------------------------------------------------
  const groups = [];
  (function collect(at) { for (const item of at.inside) if (item.inside) { groups.push(item); collect(item); } })(root);
  const depth = (at) => at.above ? 1 + depth(at.above) : 0;
  const visible = (at = root) => at.inside.reduce((sum, item) => sum + (item.inside && item.open ? visible(item) : 1), 0);
  for (let level = 1; groups.some((at) => depth(at) === level); level++) { // level by level, while there is room
    const opened = groups.filter((at) => depth(at) === level);
    for (const at of opened) at.open = true;
    if (visible() > FEW) { for (const at of opened) at.open = false; break; }
  }

  // From the root's child down to what is seen of a leaf: the leaf, or a closed group around it.
  function chain(leaf) {
    const up = [leaf];
    while (up[0].above !== root) up.unshift(up[0].above);
    const closed = up.findIndex((item) => item.inside && !item.open);
    return closed < 0 ? up : up.slice(0, closed + 1);
  }

  // ---- layout ----------------------------------------------------------------------------------------------------
  function levels() {
    const found = new Map();
    const add = (at, from, to) => {
      const list = found.get(at) || found.set(at, new Map()).get(at);
      list.set(`${from} ${to}`, { from, to });
    };
    for (const [from, to] of joined) {
      const [a, b] = [chain(from), chain(to)];
      let k = 0;
      while (k < a.length && k < b.length && a[k] === b[k]) k++;
      if (k === a.length || k === b.length) continue;
      const source = a[a.length - 1].id;
      add(k ? a[k - 1] : root, a[k].inside && a[k].open ? `${a[k].id}|${source}` : a[k].id,
        b[k].inside && b[k].open ? `${b[k].id}|${source}` : b[k].id);
      for (let n = k; n < a.length - 1; n++) add(a[n], inner(a[n + 1], source), `out|${source}`);
      for (let n = k; n < b.length - 1; n++) add(b[n], `in|${source}`, inner(b[n + 1], source));
    }
    return found;
  }
  function inner(item, source) { return item.inside && item.open ? `${item.id}|${source}` : item.id; }

  // An end of an edge is a node's id, with "|source" where it is the door of an open group that `source` uses.
  function arrange(at, found) {
    const nodes = at.inside.map((item) => {
      const size = item.inside && item.open ? arrange(item, found) : NODE;
      const box = item.port ? { w: NODE.w, h: 34 } : size;
      return { id: item.id, item, order: item.order, w: box.w, h: box.h };
    });
    const edges = [...(found.get(at) || new Map()).values()];
    const doors = new Map();
    for (const edge of edges) {
      for (const end of [edge.from, edge.to]) {
        if (end.startsWith("in|")) doors.set(end, { id: end, order: -3, w: THIN, h: 0, first: true });
        if (end.startsWith("out|")) doors.set(end, { id: end, order: 1e9, w: THIN, h: 0, last: true });
      }
    }
    const own = (end) => doors.has(end) ? end : end.split("|")[0];
    const list = [...nodes, ...doors.values()];
    const lines = edges.map((edge) => ({ from: own(edge.from), to: own(edge.to), ends: edge }));
    const size = layered(list.sort((a, b) => a.order - b.order), lines);
    const into = list.filter((node) => node.first);
    if (into.length) centre(size, list, lines, into.reduce((sum, node) => sum + node.at, 0) / into.length);
    at.drawn = { nodes, doors, lines, by: new Map(list.map((node) => [node.id, node])), size };
    return { w: Math.max(size.w + 2 * PAD, NODE.w + 2 * PAD), h: size.h + HEAD + PAD };
  }

  // Widens a group until what comes in stands in its middle: then lines from group to group are straight.
  function centre(size, list, lines, axis) {
    const wide = 2 * Math.max(axis, size.w - axis);
    if (wide - size.w > 160) return;
    for (const node of [...list, ...lines.flatMap((line) => line.via)]) {
      node.at += wide / 2 - axis;
      node.x = node.at - node.w / 2;
    }
    size.w = wide;
  }

  // ---- drawing ---------------------------------------------------------------------------------------------------
  const make = (tag, attributes, ...inside) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  const short = (text, count) => text.length > count ? `${text.slice(0, count - 1)}…` : text;
  const part = (cost) => `${(100 * cost / whole).toFixed(1)}%`;

  function door(box, end, above) { // where a line meets a box: its middle, or the door of an open group
    const item = box.item, source = end.split("|")[1];
    const middle = box.x + box.w / 2;
    if (!item || !item.inside || !item.open || !source) return middle;
    const inside = item.drawn.doors.get(`${above ? "in" : "out"}|${source}`);
    return inside ? box.x + shift(item, box.w) + inside.x + inside.w / 2 : middle;
  }
  const shift = (item, width) => (width - item.drawn.size.w) / 2;

  function curve(points) {
    let text = `M${points[0][0]} ${points[0][1]}`;
    for (let k = 1; k < points.length; k++) {
      const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
      const half = (y0 + y1) / 2;
      text += Math.abs(x0 - x1) < .5 ? `L${x1} ${y1}` : `C${x0} ${half} ${x1} ${half} ${x1} ${y1}`;
    }
    return text;
  }

  function paint(at, x, y, into) {
    const { nodes, lines, by } = at.drawn;
    for (const line of lines) {
      const [from, to] = [by.get(line.from), by.get(line.to)];
      const points = [[x + door(from, line.ends.from, false), y + from.y + from.h]];
      for (const bend of line.via) {
        points.push([x + bend.at, y + bend.y], [x + bend.at, y + bend.y + bend.tall]);
      }
      const end = [x + door(to, line.ends.to, true), y + to.y + (to.last ? PAD : 0)];
      const arrives = to.item && !(to.item.inside && to.item.open);
      points.push(arrives ? [end[0], end[1] - 4] : end);
      into.append(make("path", { class: "edge", d: curve(points), "data-from": line.ends.from.split("|").pop() }));
      if (arrives) into.append(make("path", { class: "tip", d: `M${end[0]} ${end[1] - 1}l-3.5 -6h7z` }));
    }
    for (const node of nodes) {
      if (node.item.inside && node.item.open) paintGroup(node, x + node.x, y + node.y, into);
      else into.append(paintNode(node, x + node.x, y + node.y));
    }
  }

  function paintGroup(node, x, y, into) {
    const item = node.item;
    const title = make("g", { class: "head", tabindex: 0, role: "button", "aria-expanded": "true", "data-id": item.id },
      make("rect", { x, y, width: node.w, height: HEAD, fill: "transparent" }),
      make("text", { x: x + 12, y: y + 18 }, `▾ ${short(item.path.join("."), 34)}`));
    press(title, () => toggle(item));
    into.append(make("g", { class: "group" },
      make("rect", { class: "frame", x, y, width: node.w, height: node.h, rx: 8 }), title));
    paint(item, x + shift(item, node.w), y + HEAD, into);
  }

  // A step's module as its group sees it; numbers alone say too little.
  function own(item) {
    const rest = item.path.slice(item.above.path.length).join(".");
    return !rest ? "" : /^[0-9.]+$/.test(rest) ? `${item.path.join(".")}: ` : `${rest}: `;
  }

  function paintNode(node, x, y) {
    const item = node.item, many = Boolean(item.inside);
    const name = many ? `▸ ${item.path.join(".")}` : item.port ? `${item.port} ${item.name}` : item.row.what;
    const under = many ? `${number(item.count)} steps, ${part(item.cost)}` :
      item.port ? item.under : `${own(item)}${item.row.shapes.split("-> ").pop()}, ${part(item.row.cost)}`;
    const made = make("g", {
      class: `node${many ? " many" : ""}${item.port ? " port" : ""}`, "data-id": item.id, transform: `translate(${x} ${y})`,
    }, make("title", {}, many ? item.path.join(".") : item.port ? name :
      [item.row.what, item.row.shapes, item.row.module].filter(Boolean).join("\n")));
    if (many) made.append(make("rect", { class: "shape", x: 4, y: 4, width: node.w, height: node.h, rx: 7 }));
    made.append(make("rect", { class: "shape", width: node.w, height: node.h, rx: item.port ? 17 : 7 }));
    if (item.row) made.append(make("rect", { class: `c${data.colours[item.row.group]}`, x: 6, y: 7, width: 4, height: node.h - 14, rx: 2 }));
    const left = item.port ? 16 : many ? 12 : 18;
    made.append(make("text", { class: "title", x: left, y: item.port ? 15 : 18 }, short(name, 31)),
      make("text", { class: "under-title", x: left, y: item.port ? 28 : 33 }, short(under, 36)));
    if (!item.port) {
      made.setAttribute("tabindex", 0);
      made.setAttribute("role", "button");
      if (many) made.setAttribute("aria-expanded", "false");
      press(made, () => many ? toggle(item) : choose(item.row.index, "network"));
    }
    return made;
  }

  function press(node, act) {
    node.addEventListener("click", act);
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
    });
  }

  function toggle(item) {
    const before = find(`[data-id="${CSS.escape(item.id)}"]`, svg).getBoundingClientRect().top;
    item.open = !item.open;
    draw();
    const now = find(`[data-id="${CSS.escape(item.id)}"]`, svg);
    canvas.scrollTop += now.getBoundingClientRect().top - before; // it stays under the pointer
    now.focus({ preventScroll: true });
  }

  function draw() {
    arrange(root, levels());
    const size = root.drawn.size, width = Math.ceil(size.w + 2 * MARGIN), height = Math.ceil(size.h + 2 * MARGIN);
    const scale = Math.max(SMALL, Math.min(1, canvas.clientWidth / width));
    const attributes = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` };
    for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
    canvas.classList.toggle("small", height * scale < 560);
    svg.replaceChildren();
    paint(root, MARGIN, MARGIN, svg);
    mark(choice.step);
  }

  function mark(step) {
    for (const node of all(".on", svg)) node.classList.remove("on");
    if (step === null) return null;
    const seen = chain(leafOf.get(`step${step}`)).pop();
    const node = find(`.node[data-id="${CSS.escape(seen.id)}"]`, svg);
    node.classList.add("on");
    for (const edge of all(`.edge[data-from="${CSS.escape(seen.id)}"]`, svg)) edge.classList.add("on");
    return node;
  }

  choice.watchers.push((step, from) => {
    if (step !== null && from !== "network") {
      const closed = [];
      for (let at = leafOf.get(`step${step}`).above; at !== root; at = at.above) if (!at.open) closed.push(at);
      for (const at of closed) at.open = true;
      if (closed.length) draw();
    }
    const node = mark(step);
    if (!node || from === "network") return;
    const [box, frame] = [node.getBoundingClientRect(), canvas.getBoundingClientRect()];
    canvas.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
    canvas.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  });
  find("#open-all").onclick = () => { for (const at of groups) at.open = true; draw(); };
  find("#close-all").onclick = () => { for (const at of groups) at.open = false; draw(); };
  draw();
  canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2;
})();
