// The table of operators: sorted by a column, filtered, and the row of the step that is chosen.
"use strict";
(() => {
  const table = find("#operators"), body = table.tBodies[0], rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const filters = [["#filter-group", "group"], ["#filter-type", "type"]].filter(([query]) => find(query));

  const value = (row, column) => {
    const cell = row.cells[column];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase();
  };
  const compare = (a, b) => typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0;

  function sort(column) {
    const numeric = "v" in rows[0].cells[column].dataset, now = heads[column].getAttribute("aria-sort");
    const first = numeric && column ? "descending" : "ascending"; // the largest are looked for
    const order = now === null ? first : now === "ascending" ? "descending" : "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const sorted = [...rows].sort((a, b) =>
      sign * compare(value(a, column), value(b, column)) || Number(a.dataset.step) - Number(b.dataset.step));
    body.append(...sorted);
  }
  heads.forEach((head, column) => {
    const button = find("button", head);
    if (button && rows.length) button.onclick = () => sort(column);
  });

  function filter() {
    const words = find("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0, cost = 0;
    const whole = data.rows.reduce((sum, row) => sum + row.cost, 0) || 1;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const kept = words.every((word) => text.includes(word)) &&
        filters.every(([query, name]) => !find(query).value || row.dataset[name] === find(query).value);
      row.hidden = !kept;
      if (kept) { count++; cost += data.rows[row.dataset.step].cost; }
    }
    find("#shown").textContent = count === rows.length ? `${count} operators` :
      `${count} of ${rows.length} operators, ${(100 * cost / whole).toFixed(1)}% of the cost`;
  }
  find("#filter").addEventListener("input", filter);
  for (const [query] of filters) find(query).addEventListener("change", filter);

  for (const row of rows) {
    row.addEventListener("click", () => { if (!String(getSelection())) choose(Number(row.dataset.step), "operators"); });
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(Number(row.dataset.step), "operators"); }
    });
  }
  choice.watchers.push((step) => {
    for (const row of rows) row.setAttribute("aria-selected", String(Number(row.dataset.step) === step));
  });
})();
