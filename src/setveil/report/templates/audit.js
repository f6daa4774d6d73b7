"use strict";
(() => {
  // Everything stands on the page without this script; it adds hover, filter, sort and links.
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const root = document.documentElement;
  const figure = document.getElementById("picture");
  const tip = document.getElementById("tip");
  root.classList.add("scripted");

  const marks = new Map();
  for (const drawing of all("#picture svg")) {
    const whiskers = all(".whiskers_marks > *", drawing);
    all("a[href]", drawing).forEach((link, place) => {
      const run = link.getAttribute("href").slice(1);
      if (!marks.has(run)) marks.set(run, []);
      marks.get(run).push({ link, whisker: whiskers[place] });
    });
  }
  const table = document.getElementById("all");
  const rows = all("tbody tr", table);
  const twins = run => all("tr[data-run]").filter(row => row.dataset.run === run);

  // Hover and focus: a card beside the point, and the same run lit in the tables.
  const light = (run, on) => {
    for (const row of twins(run)) row.classList.toggle("lit", on);
    for (const { link } of marks.get(run) || []) link.classList.toggle("lit", on);
  };
  const say = (run, link) => {
    const row = rows.find(each => each.dataset.run === run);
    if (!row) return;
    const cells = [...row.cells].map(cell => cell.textContent.trim());
    const title = document.createElement("b");
    title.textContent = cells[0];
    const lines = [
      cells[1],
      `singling out ${cells[2]}, linkage ${cells[3]}, inference ${cells[4]}`,
      `loss ${cells[5]}`,
      cells[6],
    ];
    tip.replaceChildren(title, ...lines.filter(Boolean).flatMap(
      (line, place) => place ? [document.createElement("br"), line] : [line]));
    tip.hidden = false;
    const box = figure.getBoundingClientRect();
    const point = link.getBoundingClientRect();
    const [x, y] = [point.left - box.left, point.top - box.top];
    const [right, left] = [x + point.width + 8, x - tip.offsetWidth - 8];
    const room = box.width - tip.offsetWidth;
    const beside = right <= room ? right : left;
    // Beside the point; below it where neither side has room for the card.
    tip.style.left = `${beside >= 0 ? beside : Math.max(0, Math.min(x, room))}px`;
    tip.style.top = `${beside >= 0 ? Math.max(0, y - tip.offsetHeight / 2) : y + point.height + 8}px`;
  };
  for (const [run, places] of marks) {
    for (const { link } of places) {
      for (const start of ["pointerenter", "focus"])
        link.addEventListener(start, () => { light(run, true); say(run, link); });
      for (const end of ["pointerleave", "blur"])
        link.addEventListener(end, () => { light(run, false); tip.hidden = true; });
    }
  }
  for (const row of all("tr[data-run]")) {
    row.addEventListener("pointerenter", () => light(row.dataset.run, true));
    row.addEventListener("pointerleave", () => light(row.dataset.run, false));
  }

  // Filter: chosen methods (none chosen: all of them), promise checked, may be published.
  const boxes = all(".filter input");
  const filter = () => {
    const methods = new Set(boxes.filter(b => b.checked && b.dataset.method).map(b => b.dataset.method));
    const only = boxes.filter(b => b.checked && b.dataset.only).map(b => b.dataset.only);
    let shown = 0;
    for (const row of rows) {
      const fits = (!methods.size || methods.has(row.dataset.method)) &&
        only.every(name => name in row.dataset);
      shown += fits;
      for (const twin of twins(row.dataset.run)) twin.hidden = !fits;
      for (const { link, whisker } of marks.get(row.dataset.run) || []) {
        link.classList.toggle("faded", !fits);
        link.toggleAttribute("tabindex", false);
        if (!fits) link.setAttribute("tabindex", "-1");
        if (whisker) whisker.classList.toggle("faded", !fits);
      }
    }
    const output = document.getElementById("shown");
    output.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
  };
  for (const box of boxes) box.addEventListener("change", filter);
  for (const button of all(".reset")) button.addEventListener("click", () => {
    for (const box of boxes) box.checked = false;
    filter();
  });

  // Sort by a column; a second click turns it round. What has no number comes last.
  all("th", table).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const key = row => {
      const cell = row.cells[column];
      const text = cell.dataset.value ?? cell.textContent.replace(/,/g, "");
      const number = parseFloat(text);
      return Number.isNaN(number) ? text.trim() : number < 0 ? Infinity : number;
    };
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of all("th", table)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1;
      const number = value => typeof value === "number" && value !== Infinity;
      const sorted = [...rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (number(x) !== number(y)) return number(x) ? -1 : 1;
        if (number(x)) return sign * (x - y);
        return sign * String(x).localeCompare(String(y));
      });
      table.tBodies[0].append(...sorted);
    });
  });

  // A link to a release opens it.
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target && target.closest("details");
    if (!details) return;
    details.open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  document.addEventListener("click", event => {
    const link = event.target.closest && event.target.closest("a[href^='#run-']");
    if (link && link.getAttribute("href") === location.hash) open();
  });
  open();
  for (const button of all(".open-all")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const closed = all("details:not([open])");
      for (const each of closed.length ? closed : all("details")) each.open = closed.length > 0;
      button.textContent = closed.length ? "close all" : "open all";
    });
  }
})();
