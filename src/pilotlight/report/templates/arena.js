// The arena: zoom and move, and the buffers of the step that is chosen.
"use strict";
(() => {
  const svg = find(".arena"), plot = find("svg", svg), MOST = 64, LETTER = 6.6;
  const { left, right, top, bottom, column, perByte } = Object.fromEntries(
    Object.entries(svg.dataset).map(([name, value]) => [name, Number(value)]));
  const width = right - left, height = bottom - top;
  const get = (node, ...names) => Object.fromEntries(names.map((name) => [name, Number(node.getAttribute(name))]));
  const boxes = all(".box", plot).map((node) => ({ node, ...get(node, "x", "y", "width", "height") }));
  const labels = all(".in", plot).map((node) => ({ node, texts: node.dataset.texts.split("|") }));
  const levels = all(".level, .bound", plot).map((node) => ({ node, y: Number(node.getAttribute("y1")) }));
  const ticks = all(".tick", svg).map((node) => ({ node, x: Number(node.getAttribute("x")), text: node.firstChild.data }));
  const peak = find(".peak", plot), peakAt = peak && get(peak, "x", "width"), word = find(".peak-word", svg);
  const sizes = find(".sizes", svg);

  // What is seen: zoom times the picture, moved so that (x, y) of it is the lower left corner of the plot.
  let view = { zoom: 1, x: left, y: bottom };
  const toX = (x) => left + (x - view.x) * view.zoom, toY = (y) => bottom + (y - view.y) * view.zoom;
  const set = (node, values) => { for (const [name, value] of Object.entries(values)) node.setAttribute(name, value); };

  function show() {
    const { zoom } = view;
    for (const box of boxes) {
      set(box.node, { x: toX(box.x), y: toY(box.y), width: box.width * zoom, height: box.height * zoom });
    }
    labels.forEach(({ node, texts }, k) => {
      const box = boxes[k], seen = Math.max(toX(box.x), left), above = Math.max(toY(box.y), top);
      const room = Math.min(toX(box.x + box.width), right) - seen;
      const wide = Math.max(room - column * zoom, Math.min(column * zoom, room));
      const high = Math.min(toY(box.y + box.height), bottom) - above;
      const text = texts.find((one) => high >= 20 && wide >= LETTER * one.length + 8);
      node.classList.toggle("off", !text);
      if (text) { node.textContent = text; set(node, { x: seen + 5, y: above + 16 }); }
    });
    for (const { node, y } of levels) set(node, { y1: toY(y), y2: toY(y) });
    if (peak) {
      set(peak, { x: toX(peakAt.x), width: peakAt.width * zoom });
      const middle = toX(peakAt.x + peakAt.width / 2);
      set(word, { x: middle });
      word.classList.toggle("off", middle < left || middle > right);
    }
    let every = 1;
    while (column * zoom * every < 24) every *= String(every)[0] === "2" ? 5 : 2;
    for (const { node, x, text } of ticks) {
      const at = toX(x), thin = text === "in" || text === "out" ? column * zoom < 24 : Number(text) % every;
      set(node, { x: at });
      node.classList.toggle("off", Boolean(thin) || at < left || at > right);
    }
    marks();
    svg.classList.toggle("moved", zoom > 1);
  }

  function marks() {
    const byte = (y) => (bottom - (view.y + (y - bottom) / view.zoom)) / perByte;
    const [low, high] = [Math.max(0, byte(bottom)), byte(top)];
    let step = 16;
    while ((high - low) / step > 6.5) step *= 2;
    sizes.replaceChildren();
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
      const y = toY(bottom - at * perByte);
      const line = document.createElementNS(svg.namespaceURI, "line"), text = document.createElementNS(svg.namespaceURI, "text");
      set(line, { class: "grid", x1: left, x2: right, y1: y, y2: y });
      set(text, { x: left - 8, y: y + 4, "text-anchor": "end" });
      text.textContent = at >= 1024 ? `${Number((at / 1024).toFixed(2))} KB` : String(at);
      sizes.append(line, text);
    }
  }

  function look(zoom, x, y) {
    zoom = Math.min(MOST, Math.max(1, zoom));
    x = Math.min(Math.max(x, left), right - width / zoom);
    y = Math.max(Math.min(y, bottom), top + height / zoom);
    view = { zoom, x, y };
    show();
  }
  // Zoom so that the point (x, y) of the picture stays where it is.
  function zoomAt(factor, x = left + width / 2, y = top + height / 2) {
    const zoom = Math.min(MOST, Math.max(1, view.zoom * factor));
    look(zoom, view.x + (x - left) * (1 / view.zoom - 1 / zoom), view.y + (y - bottom) * (1 / view.zoom - 1 / zoom));
  }
  const move = (x, y) => look(view.zoom, view.x + x / view.zoom, view.y + y / view.zoom);
  const reset = () => look(1, left, bottom);

  function zoomChosen() {
    const chosen = boxes.filter((box) => box.node.classList.contains("on"));
    if (!chosen.length) return reset();
    const x0 = Math.min(...chosen.map((box) => box.x)), x1 = Math.max(...chosen.map((box) => box.x + box.width));
    const y0 = Math.min(...chosen.map((box) => box.y)), y1 = Math.max(...chosen.map((box) => box.y + box.height));
    const zoom = Math.min(MOST, Math.max(1, .6 * Math.min(width / (x1 - x0), height / (y1 - y0))));
    return look(zoom, (x0 + x1) / 2 - width / zoom / 2, (y0 + y1) / 2 + height / zoom / 2);
  }

  const point = (event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return;
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .002)), ...point(event));
  }, { passive: false });
  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { at: point(event), moved: false, id: event.pointerId };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) { drag = null; return; }
    const [x, y] = point(event);
    if (!drag.moved && Math.hypot(x - drag.at[0], y - drag.at[1]) < 4) return;
    if (!drag.moved) svg.setPointerCapture(drag.id);
    move(drag.at[0] - x, drag.at[1] - y);
    drag = { ...drag, at: [x, y], moved: true };
  });
  svg.addEventListener("pointercancel", () => { drag = null; });
  svg.addEventListener("click", (event) => {
    const dragged = drag && drag.moved, buffer = event.target.dataset && event.target.dataset.buffer;
    drag = null;
    if (!dragged && buffer && writer.has(buffer)) choose(writer.get(buffer), "arena");
  });
  svg.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => zoomAt(1.5), "=": () => zoomAt(1.5), "-": () => zoomAt(1 / 1.5), "0": reset,
      ArrowLeft: () => move(-60, 0), ArrowRight: () => move(60, 0), ArrowUp: () => move(0, -40), ArrowDown: () => move(0, 40),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  find("#zoom-in").onclick = () => zoomAt(1.5);
  find("#zoom-out").onclick = () => zoomAt(1 / 1.5);
  find("#zoom-reset").onclick = reset;
  find("#zoom-chosen").onclick = zoomChosen;

  choice.watchers.push((step) => {
    const row = step === null ? null : data.rows[step];
    const own = new Set(row ? [...row.writes.map((value) => value.buffer), row.scratch] : []);
    const read = new Set(row ? row.reads : []);
    for (const { node } of boxes) {
      node.classList.toggle("on", own.has(node.dataset.buffer));
      node.classList.toggle("read", read.has(node.dataset.buffer));
    }
    svg.classList.toggle("chosen", row !== null);
  });
})();
