// A drawing in layers: nodes of any size, one below what they read, lines around what is between.
"use strict";
const GAP = { x: 22, y: 26 }, THIN = 12;

// nodes: {id, order, w, h, first, last}, in order; edges: {from, to, key} by id. Sets x and y of every node (its top
// left corner) and the points of every edge, and returns width and height.
function layered(nodes, edges) {
  const by = new Map(nodes.map((node) => [node.id, node]));
  const ahead = edges.filter((edge) => by.get(edge.from).order < by.get(edge.to).order || by.get(edge.from).first);
  rank(nodes, by, ahead);
  const layers = [];
  for (const node of nodes) (layers[node.rank] = layers[node.rank] || []).push(node);
  for (let k = 0; k < layers.length; k++) layers[k] = layers[k] || [];
  for (const edge of edges) {
    edge.via = [];
    if (!ahead.includes(edge)) continue;
    const [from, to] = [by.get(edge.from), by.get(edge.to)];
    for (let k = from.rank + 1; k < to.rank; k++) {
      const bend = { order: from.order, w: THIN, h: 0, rank: k, bend: true };
      edge.via.push(bend);
      layers[k].push(bend);
    }
  }
  const links = ahead.flatMap((edge) => {
    const stops = [by.get(edge.from), ...edge.via, by.get(edge.to)];
    return stops.slice(1).map((stop, k) => [stops[k], stop]);
  });
  for (const node of layers.flat()) Object.assign(node, { up: [], down: [], at: 0 });
  for (const [a, b] of links) { a.down.push(b); b.up.push(a); }
  sortLayers(layers);
  const width = align(layers);
  let y = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((node) => node.h));
    for (const node of layer) {
      node.x = node.at - node.w / 2;
      node.y = y + (node.last ? height : node.bend ? 0 : (height - node.h) / 2);
      node.tall = height;
    }
    const next = layers[layers.indexOf(layer) + 1];
    y += height + (!next ? 0 : !height || next.every((other) => other.last || other.bend) ? THIN : GAP.y);
  }
  return { w: width, h: y };
}

function rank(nodes, by, edges) {
  for (const node of nodes) node.rank = 0;
  const reads = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) reads.get(edge.to).push(by.get(edge.from));
  const start = nodes.some((node) => node.first) ? 1 : 0;
  for (const node of nodes) {
    node.rank = node.first ? 0 : Math.max(start, ...reads.get(node.id).map((other) => other.rank + 1));
  }
  const next = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) next.get(edge.from).push(by.get(edge.to));
  for (const node of nodes) { // what reads nothing stands right above what reads it
    const below = next.get(node.id);
    if (!reads.get(node.id).length && !node.first && below.length) node.rank = Math.min(...below.map((n) => n.rank)) - 1;
  }
  const bottom = Math.max(0, ...nodes.filter((node) => !node.last).map((node) => node.rank));
  for (const node of nodes) if (node.last) node.rank = bottom + 1;
}

function sortLayers(layers) {
  for (const layer of layers) layer.sort((a, b) => a.order - b.order || (a.bend ? 1 : 0) - (b.bend ? 1 : 0));
  const middle = (list, node) => list.length ? list.reduce((sum, other) => sum + other.slot, 0) / list.length : node.slot;
  const number = () => layers.forEach((layer) => layer.forEach((node, k) => { node.slot = k - (layer.length - 1) / 2; }));
  number();
  for (let pass = 0; pass < 4; pass++) {
    const side = pass % 2 ? "down" : "up";
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      const wish = new Map(layer.map((node) => [node, middle(node[side], node)]));
      layer.sort((a, b) => wish.get(a) - wish.get(b));
      layer.forEach((node, k) => { node.slot = k - (layer.length - 1) / 2; });
    }
  }
}

// Centres: each near those it is joined to, in the order of its layer, never overlapping. Returns the width.
function align(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const node of layer) { node.at = x + node.w / 2; x += node.w + GAP.x; }
    for (const node of layer) node.at -= (x - GAP.x) / 2;
  }
  for (let pass = 0; pass < 8; pass++) {
    const side = pass % 2 ? "down" : "up";
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      spread(layer, layer.map((node) => near(node, node[side])));
    }
  }
  const nodes = layers.flat();
  const left = Math.min(0, ...nodes.map((node) => node.at - node.w / 2));
  for (const node of nodes) node.at -= left;
  return Math.max(0, ...nodes.map((node) => node.at + node.w / 2));
}

// The middle of what a node is joined to; lines that go around count little, so that chains stay straight.
function near(node, list) {
  const weight = (other) => other.bend ? .001 : 1;
  const sum = list.reduce((total, other) => total + weight(other), 0);
  return sum ? list.reduce((total, other) => total + weight(other) * other.at, 0) / sum : node.at;
}

// The places nearest to what is wished, in least squares, that keep the order and the gaps: pool neighbours that clash.
function spread(layer, wish) {
  const offsets = [];
  layer.forEach((node, k) => {
    offsets.push(k ? offsets[k - 1] + layer[k - 1].w / 2 + GAP.x + node.w / 2 : 0);
  });
  const pools = [];
  layer.forEach((node, k) => {
    const weight = node.bend ? 1 : 1000;
    pools.push({ sum: weight * (wish[k] - offsets[k]), weight, count: 1 });
    while (pools.length > 1) {
      const [a, b] = pools.slice(-2);
      if (a.sum / a.weight <= b.sum / b.weight) break;
      pools.splice(-2, 2, { sum: a.sum + b.sum, weight: a.weight + b.weight, count: a.count + b.count });
    }
  });
  let k = 0;
  for (const pool of pools) for (let n = 0; n < pool.count; n++, k++) layer[k].at = pool.sum / pool.weight + offsets[k];
}
