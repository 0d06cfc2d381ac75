"use strict";
// Links the parts of the page: tabs, the table, the pictures, and the details of the selected layer.
(() => {
  const root = document.documentElement;
  const one = (query, where = document) => where.querySelector(query);
  const all = (query, where = document) => [...where.querySelectorAll(query)];
  const items = JSON.parse(one("#charts").textContent);
  const details = one("#details");
  const layers = all("#about > article").length;
  const drawn = {}; // by the chart's name, a promise of its root model
  let selected = null;
  let linking = false;

  // --- light and dark ---

  const remembered = () => { try { return localStorage.getItem("match-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("match-theme", theme); } catch { /* not allowed: not kept */ } };
  const system = matchMedia("(prefers-color-scheme: dark)");

  function showTheme() {
    root.dataset.theme = remembered() ?? (system.matches ? "dark" : "light");
    for (const model of Object.values(drawn)) model.then(paint);
  }

  /** Gives a picture the colours of the page. */
  function paint(model) {
    const style = getComputedStyle(root);
    const [ink, muted, line, grid, card] =
      ["--ink", "--muted", "--line", "--grid", "--card"].map((name) => style.getPropertyValue(name).trim());
    for (const part of model.references()) {
      if (/Axis$/.test(part.type)) {
        part.setv({
          axis_label_text_color: muted, major_label_text_color: ink, axis_line_color: line,
          major_tick_line_color: line, ...(part.minor_tick_line_color ? { minor_tick_line_color: line } : {}),
        });
      } else if (part.type === "Grid") part.setv({ grid_line_color: grid });
      else if (part.type === "Legend") part.setv({ label_text_color: ink, inactive_fill_color: card });
      else if (part.type === "Figure") part.setv({ outline_line_color: line });
      else if (part.tags?.includes("ink")) part.setv(part.text_color !== undefined ? { text_color: ink } : { line_color: ink });
    }
  }

  // --- pictures, drawn when they are first seen ---

  function draw(place) {
    const name = place.dataset.chart;
    drawn[name] ??= Bokeh.embed.embed_item(items[name], place).then((views) => {
      const model = [...views][0].model;
      paint(model);
      link(model);
      if (model.select_one("labels")) labelled(model);
      if (/^timeline/.test(name)) together(model);
      place.dataset.drawn = "";
      return model;
    });
    return drawn[name];
  }

  const renderers = (model) => model.renderers.filter((one) => one.data_source?.data.layer);

  /** Selects the layer of a bar that is tapped, and shows the one that is selected elsewhere. */
  function link(model) {
    for (const { data_source: source } of renderers(model)) {
      source.connect(source.selected.properties.indices.change, () => {
        const [first] = source.selected.indices;
        if (!linking && first !== undefined) select(source.data.layer[first]);
        else if (!linking) mark(model);
      });
    }
    mark(model);
  }

  function mark(model) {
    linking = true;
    for (const { data_source: source } of renderers(model)) {
      const indices = [];
      const places = source.data.layer;
      for (let i = 0; i < places.length; i++) if (places[i] === selected) indices.push(i);
      // Where a source has no bar of the layer, all of its bars stand back as those of other layers do.
      source.selected.indices = selected === null ? [] : indices.length ? indices : [-1];
    }
    linking = false;
  }

  /** Names of layers, as long as their bars have room. */
  function labelled(model) {
    const source = model.select_one("labels").data_source;
    const range = model.x_range;
    const fit = () => {
      const pixels = (model.inner_width ?? 800) / (range.end - range.start);
      const { x, end, full } = source.data;
      source.data = {
        ...source.data,
        text: full.map((text, i) => {
          const room = Math.floor(((end[i] - x[i]) * pixels - 8) / 6.6);
          return room >= text.length ? text : room >= 4 ? text.slice(0, room - 1) + "…" : "";
        }),
      };
    };
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => { waiting = false; fit(); }, 120);
    };
    range.connect(range.change, later);
    model.connect(model.properties.inner_width.change, later);
    fit();
  }

  /** Timelines of two reports show the same time. */
  const timelines = [];
  function together(model) {
    const range = model.x_range;
    for (const other of timelines) {
      for (const [one, its] of [[range, other.x_range], [other.x_range, range]]) {
        one.connect(one.change, () => {
          if (its.start !== one.start || its.end !== one.end) its.setv({ start: one.start, end: one.end });
        });
      }
    }
    timelines.push(model);
  }

  // --- the selected layer ---

  /** Scrolls what holds a row or a box so that it is in the middle, and the page no more than needed. */
  function reveal(part) {
    const frame = part.closest(".scroll");
    const [inner, outer] = [part.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (!inner.width) return;
    if (frame.scrollHeight > frame.clientHeight) {
      frame.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
    } else part.scrollIntoView({ block: "nearest" });
    if (part.localName === "g") frame.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }

  function select(place, { scroll = false } = {}) {
    selected = place;
    details.hidden = place === null;
    for (const article of all("#about > article")) article.hidden = article.id !== `layer-${place}`;
    for (const part of all("[aria-current='true']")) part.removeAttribute("aria-current");
    for (const part of all(`tr[data-layer="${place}"], g[data-layer="${place}"]`)) {
      part.setAttribute("aria-current", "true");
      if (scroll && !part.classList.contains("operator")) reveal(part);
    }
    details.scrollTop = 0;
    one("#told").textContent = place === null ? "No layer selected" : `Selected: ${one(`#layer-${place} h2`).textContent}`;
    if (place !== null) {
      one("#previous").disabled = place === 0;
      one("#next").disabled = place === layers - 1;
    }
    for (const model of Object.values(drawn)) model.then(mark);
    address();
  }

  // --- tabs, and the page's address ---

  const tabs = all("[role='tab']");
  const shown = () => tabs.find((tab) => tab.getAttribute("aria-selected") === "true");

  function open(tab, focus = false) {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      one(`#${other.getAttribute("aria-controls")}`).hidden = !chosen;
    }
    if (focus) tab.focus();
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    const panel = one(`#${tab.getAttribute("aria-controls")}`);
    for (const place of all(".chart", panel)) draw(place);
    const shown = one(".scroll [aria-current]", panel) ?? (panel.dataset.seen ? null : one("g[data-layer]", panel));
    if (shown) reveal(shown);
    panel.dataset.seen = "";
    address();
  }

  function address() {
    const tab = shown()?.id.slice("tab-".length) ?? "";
    try {
      history.replaceState(null, "", `#${tab}${selected === null ? "" : `/${selected}`}`);
    } catch { /* a frame without an address */ }
  }

  function read() {
    const [name, place] = location.hash.slice(1).split("/");
    const number = Number.parseInt(place ?? "", 10);
    open(tabs.find((tab) => tab.id === `tab-${name}`) ?? tabs[0]);
    select(number >= 0 && number < layers ? number : null, { scroll: true });
  }

  one("[role='tablist']").addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    open(tabs[(to + tabs.length) % tabs.length], true);
  });
  for (const tab of tabs) tab.addEventListener("click", () => open(tab));

  // --- the table ---

  const table = one("#layers");
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };

  function sort(heading) {
    const column = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "descending";
    const numbers = heading.closest("table").tBodies[0].querySelector(`td:nth-child(${column + 1})[data-value]`);
    const ascending = heading.getAttribute("aria-sort") === "none" ? !numbers : down;
    for (const other of all("th", table.tHead)) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const order = (a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what has no value is last in both directions
      const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return ascending ? less : -less;
    };
    const groups = layered().sort(([a], [b]) => order(a, b));
    table.tBodies[0].append(...groups.flat());
  }

  /** Rows of layers, each with those of its operators, which stay below it. */
  function layered() {
    const groups = [];
    for (const row of table.tBodies[0].rows) {
      if (row.classList.contains("operator")) groups.at(-1).push(row);
      else groups.push([row]);
    }
    return groups;
  }

  function search() {
    const words = one("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (row) => words.every((word) => row.textContent.toLowerCase().includes(word));
    const groups = layered();
    let count = 0;
    for (const [layer, ...operators] of groups) {
      const found = has(layer); // then all of its operators are shown, else those that are found, below it
      for (const row of operators) row.hidden = !found && !has(row);
      layer.hidden = !found && operators.every((row) => row.hidden);
      count += !layer.hidden;
    }
    one("#found").textContent = `${count} of ${groups.length} layers`;
  }

  if (table) {
    for (const heading of all("th", table.tHead)) one("button", heading).addEventListener("click", () => sort(heading));
    one("#search").addEventListener("input", search);
    one("#operators")?.addEventListener("change", ({ target }) => table.classList.toggle("layers-alone", !target.checked));
    search();
  }

  // --- the timeline's buttons ---

  async function view(how, place) {
    const model = await draw(one(".chart", place));
    const range = model.x_range;
    const [least, most] = range.bounds;
    let { start, end } = range;
    const width = end - start;
    const middle = (start + end) / 2;
    if (how === "all") [start, end] = [least, most];
    else if (how === "left" || how === "right") {
      const by = (how === "left" ? -0.4 : 0.4) * width;
      const step = Math.max(least - start, Math.min(most - end, by));
      [start, end] = [start + step, end + step];
    } else if (how === "layer") {
      for (const { data_source: { data, selected: { indices } } } of renderers(model).filter((one) => one.visible)) {
        for (const i of indices) {
          if (i < 0) continue;
          if (start === range.start && end === range.end) [start, end] = [data.left[i], data.right[i]];
          [start, end] = [Math.min(start, data.left[i]), Math.max(end, data.right[i])];
        }
      }
      const room = 0.05 * (end - start);
      [start, end] = [start - room, end + room];
    } else {
      const half = (how === "in" ? 0.25 : 1) * width;
      [start, end] = [middle - half, middle + half];
    }
    range.setv({ start: Math.max(least, start), end: Math.min(most, end) });
  }

  // --- the graph's size ---

  function resize(how, place) {
    const picture = one("svg", place);
    const frame = picture.parentElement;
    const { width, height } = picture.viewBox.baseVal;
    const before = picture.clientWidth;
    const wanted = how === "all" ? Math.min(width, frame.clientWidth) : before * (how === "in" ? 1.25 : 0.8);
    const [x, y] = [frame.scrollLeft + frame.clientWidth / 2, frame.scrollTop + frame.clientHeight / 2];
    picture.setAttribute("width", wanted);
    picture.setAttribute("height", (wanted * height) / width);
    frame.scrollTo((x * wanted) / before - frame.clientWidth / 2, (y * wanted) / before - frame.clientHeight / 2);
  }

  // --- legends ---

  for (const button of all("[data-shows]")) {
    button.addEventListener("click", async () => {
      const shows = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shows));
      const model = await draw(one(`.chart[data-chart="${button.parentElement.dataset.of}"]`));
      for (const part of model.renderers) if (part.name === button.dataset.shows) part.visible = shows;
    });
  }

  // --- clicks and keys ---

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-view]");
    if (button) view(button.dataset.view, button.closest("section"));
    const size = event.target.closest("[data-size]");
    if (size) resize(size.dataset.size, size.closest("section"));
    const layer = event.target.closest("[data-layer]");
    if (layer) select(Number(layer.dataset.layer));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && selected !== null) select(null);
    const node = event.target.closest?.("g[data-layer]");
    if (node && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      select(Number(node.dataset.layer));
    }
  });
  one("#close").addEventListener("click", () => select(null));
  one("#previous").addEventListener("click", () => select(selected - 1, { scroll: true }));
  one("#next").addEventListener("click", () => select(selected + 1, { scroll: true }));
  one("#theme").addEventListener("click", () => {
    remember(root.dataset.theme === "dark" ? "light" : "dark");
    if (!remembered()) root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    else showTheme();
    for (const model of Object.values(drawn)) model.then(paint);
  });
  system.addEventListener("change", showTheme);
  addEventListener("hashchange", read);
  showTheme();
  read();
})();
