"use strict";
// The list renderer in the browser: a window over /api/entries that holds only the tiles near the screen, and only
// the pages of data near those. No text from the cache is ever parsed as HTML.
(() => {
  const PAGE = 120;            // entries asked for at once
  const PAGES_KEPT = 40;       // pages of data held
  const OVERSCAN = 2;          // rows beyond the screen
  const MAX_HEIGHT = 15e6;     // pixels; browsers lose precision or clip beyond
  const SHOWN_BY_BROWSERS = new Set(["jpeg", "png", "gif", "webp", "avif", "svg", "bmp", "ico"]);
  const byId = (id) => document.getElementById(id);
  const grid = byId("grid"), statusLine = byId("status"), detail = byId("detail");

  // MARK: words

  const number = new Intl.NumberFormat(), relative = new Intl.RelativeTimeFormat(undefined, { style: "long" });
  const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const bytes = (count) => {
    if (count < 1000) return `${count} B`;
    const units = ["kB", "MB", "GB", "TB"];
    let unit = -1;
    while (count >= 999.5 && unit < 3) { count /= 1000; unit += 1; }
    return `${count < 9.95 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
  };
  const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const ago = (time) => {
    const seconds = (time - Date.now()) / 1000;
    for (const [unit, length] of STEPS) {
      if (Math.abs(seconds) >= length || unit === "second") return relative.format(Math.trunc(seconds / length), unit);
    }
  };
  const FOREVER = Date.UTC(9999, 0);
  const when = (text) => { const time = Date.parse(text); return Number.isNaN(time) ? null : time; };
  const nameOf = (entry) => {
    try {
      const url = new URL(entry.url);
      const last = url.pathname.split("/").filter(Boolean).pop();
      return last ? decodeURIComponent(last) : url.host;
    } catch { return entry.url || entry.file; }
  };
  const FAILURES = {
    invalid_url: "Not an address", refused: "Refused", filtered: "Filtered", unreachable: "Unreachable",
    timed_out: "Timed out", http_status: "HTTP error", truncated: "Cut short",
    not_an_image: "Not an image", unsupported_format: "Unsupported format", corrupt: "Damaged",
    too_large: "Too large", hash_mismatch: "Another file", cache_unavailable: "Not readable",
    busy: "Busy, try later", not_shown: "Not shown", worker_crashed: "Fetching failed",
  };
  const COLOURS = { ycbcr: "YCbCr", rgb: "RGB", rgba: "RGBA", gray: "grey", cmyk: "CMYK", ycck: "YCCK" };
  const failureName = (code) => FAILURES[code] || code.replaceAll("_", " ");
  const sides = (entry) => entry.orientation >= 5 ? [entry.height, entry.width] : [entry.width, entry.height];
  const sizeText = (entry) => { const [w, h] = sides(entry); return w && h ? `${w} × ${h}` : ""; };

  // MARK: the server

  class Refused extends Error {
    constructor(status, problem, retryAfter) { super(problem.detail || `HTTP ${status}`); this.status = status; this.code = problem.code || "http_status"; this.retryAfter = retryAfter; }
  }
  async function problemOf(response) {
    const type = response.headers.get("content-type") || "";
    const problem = type.includes("json") ? await response.json().catch(() => ({})) : {};
    return new Refused(response.status, problem, Number(response.headers.get("retry-after")) || 0);
  }
  async function get(path, signal) {
    const response = await fetch(path, { signal, headers: { accept: "application/json" } });
    if (!response.ok) throw await problemOf(response);
    return response.json();
  }

  // MARK: what is looked at

  const query = { q: "", format: "", sort: "-stored", state: "any" };
  let total = 0, shown = 0, generation = 0, loading = new AbortController();
  const pages = new Map();     // page number -> array of entries, or null while it is asked for
  const entryAt = (index) => pages.get(Math.floor(index / PAGE))?.[index % PAGE];

  const parametersOf = (offset) => {
    const parameters = new URLSearchParams({ offset, limit: PAGE, sort: query.sort });
    if (query.q) parameters.set("q", query.q);
    if (query.format) parameters.set("format", query.format);
    if (query.state !== "any") parameters.set("state", query.state);
    // The server takes a plus as it stands.
    return parameters.toString().replaceAll("+", "%20");
  };

  async function loadPage(page) {
    if (pages.has(page)) return pages.get(page);
    pages.set(page, null);
    const mine = generation;
    try {
      const answer = await get(`/api/entries?${parametersOf(page * PAGE)}`, loading.signal);
      if (mine !== generation) return;
      pages.delete(page);
      pages.set(page, answer.entries);
      for (const old of pages.keys()) { if (pages.size <= PAGES_KEPT) break; if (old !== page) pages.delete(old); }
      if (answer.total !== total || page === 0) { total = answer.total; layOut(); }
      say();
      render();
    } catch (error) {
      if (mine !== generation || error.name === "AbortError") return;
      pages.delete(page);
      fail(error);
    }
  }

  function reload() {
    generation += 1;
    loading.abort();
    loading = new AbortController();
    pages.clear();
    clearTiles();
    byId("notice").hidden = true;
    statusLine.textContent = "Looking…";
    window.scrollTo(0, 0);
    loadPage(0);
  }

  function fail(error) {
    if (error.status === 401) return openLogin();
    notice(error.status === 403 ? "Not open to you" : "The larder does not answer",
      error.status ? error.message : "Is the server still running?", "Try again", reload);
    statusLine.textContent = "";
  }

  function notice(title, text, action, run) {
    byId("notice").hidden = false;
    byId("notice-title").textContent = title;
    byId("notice-text").textContent = text;
    const button = byId("notice-button");
    button.hidden = !action;
    button.textContent = action || "";
    button.onclick = run || null;
  }

  function say() {
    const filtered = query.q || query.format || query.state !== "any";
    const noun = query.state === "failed" ? ["failure", "failures"] : ["image", "images"];
    statusLine.textContent = total === 0 ? "" : `${number.format(total)} ${noun[total === 1 ? 0 : 1]}`
      + (query.q ? ` with “${query.q}”` : "") + (shown < total ? `, the first ${number.format(shown)} shown: search to narrow` : "");
    byId("notice").hidden = total > 0;
    if (total === 0) {
      if (filtered) notice("Nothing like that here", "No image fits this search and these filters.", "Show everything", clearFilters);
      else notice("The larder is empty", "Images that larder fetches into this directory appear here. Start with: larder prefetch urls.txt", null);
    }
  }

  // MARK: the window

  let columns = 1, tileWidth = 200, rowHeight = 250, gap = 14;
  const tiles = new Map();     // index -> { element, entry, … }
  let current = 0;             // where the keyboard is

  function layOut() {
    const width = grid.clientWidth, wanted = Number(byId("tile").value);
    gap = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--gap")) || 14;
    columns = Math.max(window.innerWidth < 560 ? 2 : 1, Math.floor((width + gap) / (wanted + gap)));
    tileWidth = (width - gap * (columns - 1)) / columns;
    rowHeight = tileWidth + 46 + gap;
    shown = Math.min(total, Math.floor(MAX_HEIGHT / rowHeight) * columns);
    grid.style.height = `${Math.ceil(shown / columns) * rowHeight}px`;
    grid.style.setProperty("--w", `${tileWidth}px`);
    grid.style.setProperty("--h", `${rowHeight - gap}px`);
    for (const [index, tile] of tiles) {
      if (index >= shown) remove(index, tile); else place(index, tile);
    }
    render();
  }

  function place(index, tile) {
    const x = (index % columns) * (tileWidth + gap), y = Math.floor(index / columns) * rowHeight;
    tile.element.style.transform = `translate(${x}px, ${y}px)`;
  }

  function remove(index, tile) {
    clearTimeout(tile.retry);
    tile.image?.removeAttribute("srcset");
    tile.image?.removeAttribute("src");
    tile.element.remove();
    tiles.delete(index);
  }
  function clearTiles() { for (const [index, tile] of tiles) remove(index, tile); }

  let scheduled = false;
  const render = () => { if (!scheduled) { scheduled = true; requestAnimationFrame(draw); } };
  let lastY = 0, lastTime = 0;
  function draw() {
    scheduled = false;
    const top = window.scrollY - grid.offsetTop, height = window.innerHeight;
    const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN) * columns;
    const last = Math.min(shown, (Math.floor((top + height) / rowHeight) + 1 + OVERSCAN) * columns);
    const focused = document.activeElement?.closest?.(".tile")?.dataset.index;
    for (const [index, tile] of tiles) {
      if ((index < first || index >= last) && String(index) !== focused) remove(index, tile);
    }
    // A list that is flung past need not be fetched: it is once it slows down.
    const now = performance.now(), speed = Math.abs(window.scrollY - lastY) / Math.max(1, now - lastTime);
    lastY = window.scrollY; lastTime = now;
    const flung = speed > 25;
    for (let index = first; index < last; index += 1) {
      const entry = entryAt(index);
      let tile = tiles.get(index);
      if (!tile) { tile = makeTile(index); tiles.set(index, tile); place(index, tile); grid.append(tile.element); }
      if (entry && tile.entry !== entry) fill(tile, entry);
    }
    if (flung) return setTimeout(render, 120);
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE) && page * PAGE < shown; page += 1) {
      if (!pages.has(page)) loadPage(page);
    }
  }

  const make = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  function symbol(id) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `#${id}`);
    svg.setAttribute("aria-hidden", "true");
    svg.append(use);
    return svg;
  }

  function makeTile(index) {
    const mat = make("span", "mat"), life = make("span", "life", make("i"));
    const why = make("span", "why", symbol("broken"), make("strong"), make("p"));
    mat.append(why, life);
    const name = make("span", "name"), line = make("span", "line");
    const button = make("button", "", mat, make("span", "label", name, line));
    button.type = "button";
    button.tabIndex = index === current ? 0 : -1;
    button.setAttribute("aria-label", "Loading");
    const element = make("li", "tile", button);
    element.dataset.index = index;
    element.dataset.phase = "empty";
    element.setAttribute("aria-posinset", index + 1);
    element.setAttribute("aria-setsize", shown);
    return { element, button, mat, life, why, name, line, entry: null, image: null };
  }

  function fill(tile, entry) {
    tile.entry = entry;
    const name = nameOf(entry), stored = when(entry.stored_at);
    tile.name.textContent = name;
    tile.name.title = entry.url;
    if (entry.error) {
      tile.line.textContent = hostOf(entry);
      return failed(tile, entry.error.code, entry.error.message || "");
    }
    const facts = [entry.format?.toUpperCase(), sizeText(entry), bytes(entry.bytes)].filter(Boolean);
    tile.line.textContent = [...facts.slice(0, 1), ...facts.slice(2), stored ? ago(stored) : ""].filter(Boolean).join(", ");
    tile.line.title = facts.join(", ");
    const life = shelfLife(entry);
    tile.life.dataset.state = life.state;
    tile.life.title = life.text;
    tile.life.firstChild.style.width = `${Math.round(life.left * 100)}%`;
    tile.button.setAttribute("aria-label", `${name}, ${facts.join(", ")}, ${life.text}`);
    const [width, height] = sides(entry);
    tile.mat.classList.toggle("small", width > 0 && Math.max(width, height) <= tileWidth);
    tile.mat.classList.toggle("clear", entry.format !== "jpeg");
    show(tile, sourcesOf(entry));
  }

  const hostOf = (entry) => { try { return new URL(entry.url).host; } catch { return ""; } };

  /// How much of the time from storing to the end of freshness is left.
  function shelfLife(entry) {
    const stored = when(entry.stored_at), until = when(entry.fresh_until), now = Date.now();
    if (until === null || until <= now) {
      return { state: "stale", left: 1, text: until ? `stale since ${moment.format(until)}` : "stale" };
    }
    const whole = Math.max(1, until - (stored ?? now));
    return { state: "fresh", left: Math.max(.04, Math.min(1, (until - now) / whole)), text: until >= FOREVER ? "fresh for ever" : `fresh until ${moment.format(until)}` };
  }

  // MARK: pictures

  const fileOf = (entry) => `/files/${entry.file}`;
  /// What to ask for, best first. Thumbnails in two sizes; small images and what only browsers can show, as they are.
  function sourcesOf(entry) {
    const original = { src: fileOf(entry) }, [width, height] = sides(entry);
    const least = Math.min(width, height), most = Math.max(width, height);
    const thumbnail = (side, fit) => `${fileOf(entry)}?w=${side}&h=${side}&fit=${fit}`;
    const shows = SHOWN_BY_BROWSERS.has(entry.format);
    if (shows && (!entry.can_decode || most <= 480)) return [original];
    if (!entry.can_decode) return [];
    const wide = least < 320;
    const sources = [{
      src: thumbnail(320, wide ? "max" : "crop"),
      srcset: wide ? `${thumbnail(640, "max")} 640w` : least < 640 ? "" : `${thumbnail(320, "crop")} 320w, ${thumbnail(640, "crop")} 640w`,
    }];
    if (shows) sources.push(original);
    return sources;
  }

  function show(tile, sources) {
    tile.element.dataset.phase = "empty";
    tile.image?.remove();
    const entry = tile.entry;
    if (sources.length === 0) return failed(tile, "unsupported_format", "Neither larder nor browsers can show this format.");
    const image = tile.image = document.createElement("img");
    image.alt = "";
    image.loading = "lazy";
    image.decoding = "async";
    image.draggable = false;
    let at = 0, tries = 0;
    const next = () => {
      const source = sources[at];
      if (source.srcset) { image.sizes = `${Math.ceil(tileWidth)}px`; image.srcset = source.srcset; } else image.removeAttribute("srcset");
      image.src = source.src;
    };
    image.onload = () => { if (tile.image === image) tile.element.dataset.phase = "success"; };
    image.onerror = async () => {
      if (tile.image !== image || !tile.element.isConnected) return;
      const problem = await whyNot(sources[at].src);
      if (tile.image !== image || tile.entry !== entry) return;
      if (problem.status === 503 && tries < 4) {
        tries += 1;
        tile.retry = setTimeout(next, 1000 * (problem.retryAfter || 1) + 400 * Math.random());
      } else if (at + 1 < sources.length && problem.status !== 404) {
        at += 1;
        next();
      } else failed(tile, problem.code, problem.message);
    };
    tile.mat.prepend(image);
    next();
  }

  async function whyNot(src) {
    try {
      const response = await fetch(src, { headers: { accept: "application/problem+json" } });
      if (!response.ok) return await problemOf(response);
      response.body?.cancel();
      return new Refused(200, { code: "not_shown", detail: "It is stored, but this browser cannot show it." }, 0);
    } catch {
      return new Refused(0, { code: "unreachable", detail: "The server does not answer." }, 0);
    }
  }

  function failed(tile, code, message) {
    tile.element.dataset.phase = "failure";
    tile.image?.remove();
    tile.image = null;
    tile.why.querySelector("strong").textContent = failureName(code);
    tile.why.querySelector("p").textContent = message;
    tile.why.title = message;
    tile.button.setAttribute("aria-label", `${nameOf(tile.entry)}, failed: ${failureName(code)}. ${message}`);
  }

  // MARK: one image

  let opened = -1, openedKey = "";
  async function open(index, entry = entryAt(index)) {
    if (!entry) return;
    opened = index; openedKey = entry.key;
    history.replaceState(null, "", `#${entry.key}`);
    byId("detail-name").textContent = nameOf(entry);
    const link = byId("detail-url");
    link.textContent = entry.url;
    if (/^https?:/i.test(entry.url)) link.href = entry.url; else link.removeAttribute("href");
    byId("previous-button").disabled = index <= 0;
    byId("next-button").disabled = index < 0 || index + 1 >= shown;
    const body = byId("detail-body");
    body.replaceChildren(...summary(entry));
    if (!detail.open) { detail.showModal(); byId("facts").focus(); }
    byId("facts").scrollTop = 0;
    stage(entry);
    if (entry.error) return;
    try {
      const more = await get(`/api/entries/${entry.key}`);
      if (openedKey === entry.key) body.replaceChildren(...summary({ ...entry, ...more }), ...facts({ ...entry, ...more }));
    } catch (error) {
      if (openedKey === entry.key) body.append(make("p", "wrong", error.message));
    }
  }

  function stage(entry) {
    const frame = byId("stage"), picture = byId("picture");
    const say = (code, message) => {
      frame.dataset.phase = "failure";
      frame.querySelector("strong").textContent = failureName(code);
      frame.querySelector("p").textContent = message;
    };
    picture.removeAttribute("src");
    frame.classList.toggle("clear", !entry.error && entry.format !== "jpeg");
    if (entry.error) return say(entry.error.code, entry.error.message || "");
    frame.dataset.phase = "empty";
    const [width, height] = sides(entry), shows = SHOWN_BY_BROWSERS.has(entry.format);
    const reduced = `${fileOf(entry)}?w=1600&h=1600&fit=max`;
    const src = entry.can_decode && (!shows || width * height > 6e6) ? reduced : shows ? fileOf(entry) : null;
    if (!src) return say("unsupported_format", "Neither larder nor browsers can show this format.");
    picture.alt = nameOf(entry);
    picture.onload = () => { frame.dataset.phase = "success"; };
    picture.onerror = async () => {
      const problem = await whyNot(src);
      if (openedKey === entry.key) say(problem.code, problem.message);
    };
    picture.src = src;
  }

  function list(rows) {
    const dl = make("dl");
    for (const [name, value, isCode] of rows) {
      if (value === undefined || value === null || value === "") continue;
      dl.append(make("dt", "", name), make("dd", "", isCode ? make("code", "", String(value)) : String(value)));
    }
    return dl;
  }

  function summary(entry) {
    if (entry.error) {
      const until = when(entry.error.until);
      return [list([["Failed with", entry.error.code, true], ["Tried again", until ? (until > Date.now() ? `not before ${moment.format(until)}` : "when it is next asked for") : ""]])];
    }
    const life = shelfLife(entry), until = when(entry.fresh_until), stored = when(entry.stored_at);
    const bar = make("i");
    bar.style.width = `${Math.round(life.left * 100)}%`;
    const shelf = make("div", "shelf",
      make("p", "", make("strong", "", life.state === "fresh" ? "Fresh" : "Stale"), make("span", "", until === null ? "" : until >= FOREVER ? "for ever" : `${life.state === "fresh" ? "goes" : "went"} stale ${ago(until)}`)),
      make("div", "track", bar));
    shelf.dataset.state = life.state;
    return [shelf, list([
      ["Format", entry.format?.toUpperCase()], ["Size", sizeText(entry)], ["Bytes", `${number.format(entry.bytes)} (${bytes(entry.bytes)})`],
      ["Stored", stored ? `${moment.format(stored)}, ${ago(stored)}` : ""], ["Private", entry.is_private ? "yes" : ""],
    ])];
  }

  const yes = (value) => value ? "yes" : "";
  function facts(entry) {
    const header = entry.header || {}, freshness = entry.freshness || {}, nodes = [];
    const time = (text) => { const value = when(text); return value === null ? "" : value >= FOREVER ? "for ever" : moment.format(value); };
    nodes.push(make("h3", "", "Picture"), list([
      ["As stored", entry.orientation > 1 ? `${entry.width} × ${entry.height}, orientation ${entry.orientation}` : ""],
      ["Colour", [COLOURS[header.color] ?? header.color?.replaceAll("_", " "), header.bit_depth ? `${header.bit_depth} bit` : ""].filter(Boolean).join(", ")],
      ["Transparency", yes(header.has_alpha)], ["Progressive", yes(header.is_progressive)],
      ["Frames", header.frames > 1 ? header.frames : ""], ["Colour profile", header.icc_bytes ? bytes(header.icc_bytes) : ""],
      ["Not decodable", header.undecodable], ["SHA-256", entry.sha256, true], ["File", entry.file, true],
    ]));
    nodes.push(make("h3", "", "Freshness"), list([
      ["Fresh until", time(freshness.fresh_until)], ["Stale, while asking", time(freshness.stale_while_revalidate_until)],
      ["Stale, on failure", time(freshness.stale_if_error_until)], ["Immutable", yes(freshness.immutable)],
      ["Must ask", freshness.no_cache ? "always" : freshness.must_revalidate ? "once stale" : ""],
      ["Answered", time(entry.response_time)], ["Status", entry.status || ""],
    ]));
    nodes.push(make("h3", "", "Variants"));
    if (entry.variants?.length) {
      const items = make("ul", "variants");
      for (const variant of entry.variants) {
        const link = make("a", "", make("span", "", `${variant.width} × ${variant.height} ${variant.format?.toUpperCase() ?? ""}`), make("span", "", bytes(variant.bytes)));
        link.href = fileOf(variant);
        link.target = "_blank";
        link.title = variant.variant;
        items.append(make("li", "", link));
      }
      nodes.push(items);
    } else nodes.push(make("p", "line", "None made yet."));
    const links = make("p", "line");
    const original = make("a", "", "Open the original");
    original.href = fileOf(entry);
    original.target = "_blank";
    original.style.color = "var(--rim)";
    links.append(original);
    links.style.marginTop = "14px";
    nodes.push(links);
    if (entry.fields?.length) {
      nodes.push(make("details", "", make("summary", "", "Response fields"), list(entry.fields.map((field) => [field.name, field.value, true]))));
    }
    return nodes;
  }

  async function turn(step) {
    const index = opened + step;
    if (opened < 0 || index < 0 || index >= shown) return;
    if (!entryAt(index)) await loadPage(Math.floor(index / PAGE));
    if (entryAt(index)) { current = index; open(index); }
  }

  // MARK: the keyboard

  function focusTile(index) {
    index = Math.max(0, Math.min(shown - 1, index));
    const row = Math.floor(index / columns) * rowHeight + grid.offsetTop, bar = document.querySelector(".bar");
    const covered = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
    if (row - covered < window.scrollY) window.scrollTo(0, row - covered - 8);
    else if (row + rowHeight > window.scrollY + window.innerHeight) window.scrollTo(0, row + rowHeight - window.innerHeight + 8);
    tiles.get(current)?.button.setAttribute("tabindex", "-1");
    current = index;
    draw();
    const tile = tiles.get(index);
    if (tile) { tile.button.tabIndex = 0; tile.button.focus({ preventScroll: true }); }
  }

  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pageful = columns * Math.max(1, Math.floor(window.innerHeight / rowHeight) - 1);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: pageful, PageUp: -pageful };
    const target = event.key === "Home" ? 0 : event.key === "End" ? shown - 1 : event.key in steps ? current + steps[event.key] : null;
    if (target === null) return;
    event.preventDefault();
    if (target >= 0 || steps[event.key] === -1 || event.key === "Home" || event.key === "PageUp") focusTile(target);
    else if (event.key === "ArrowUp") byId("q").focus();
  });
  grid.addEventListener("focusin", (event) => {
    const tile = event.target.closest(".tile");
    if (tile) current = Number(tile.dataset.index);
  });
  grid.addEventListener("click", (event) => {
    const tile = event.target.closest(".tile");
    if (tile) { current = Number(tile.dataset.index); open(current); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (detail.open) {
      if (event.key === "ArrowLeft") turn(-1);
      else if (event.key === "ArrowRight") turn(1);
    } else if (event.key === "/") { event.preventDefault(); byId("q").focus(); byId("q").select(); }
  });
  detail.addEventListener("click", (event) => { if (event.target === detail) detail.close(); });
  detail.addEventListener("close", () => {
    // The event comes late: another image may have been opened since.
    if (detail.open) return;
    openedKey = "";
    history.replaceState(null, "", location.pathname);
    byId("picture").removeAttribute("src");
    if (opened >= 0) focusTile(opened);
    opened = -1;
  });
  byId("close-button").onclick = () => detail.close();
  byId("previous-button").onclick = () => turn(-1);
  byId("next-button").onclick = () => turn(1);
  byId("copy-button").onclick = async () => {
    const button = byId("copy-button");
    try { await navigator.clipboard.writeText(byId("detail-url").textContent); button.setAttribute("aria-label", "Copied"); } catch { button.setAttribute("aria-label", "Copying is not allowed here"); }
    setTimeout(() => button.setAttribute("aria-label", "Copy the address"), 2000);
  };

  // MARK: filters

  let typing = 0;
  byId("q").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => { query.q = byId("q").value.trim(); reload(); }, 180);
  });
  byId("search-form").addEventListener("submit", (event) => { event.preventDefault(); if (shown > 0) focusTile(0); });
  byId("format").onchange = () => { query.format = byId("format").value; reload(); };
  byId("sort").onchange = () => { query.sort = byId("sort").value; reload(); };
  byId("states").addEventListener("change", (event) => { query.state = event.target.value; reload(); });
  byId("tile").addEventListener("input", () => {
    // What stands at the top of the window stays there.
    const index = Math.floor(Math.max(0, window.scrollY - grid.offsetTop) / rowHeight) * columns;
    localStorage.setItem("larder.tile", byId("tile").value);
    layOut();
    if (index > 0) window.scrollTo(0, Math.floor(index / columns) * rowHeight + grid.offsetTop);
  });
  function clearFilters() {
    query.q = query.format = "";
    query.state = "any";
    byId("q").value = byId("format").value = "";
    byId("states").querySelector("[value=any]").checked = true;
    reload();
  }

  const THEMES = { "": "as the system", light: "light", dark: "dark" };
  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
    const label = `Colours: ${THEMES[theme]}`;
    byId("theme-button").setAttribute("aria-label", label);
    byId("theme-button").title = label;
  }
  byId("theme-button").onclick = () => {
    const names = Object.keys(THEMES), now = document.documentElement.dataset.theme || "";
    const next = names[(names.indexOf(now) + 1) % names.length];
    localStorage.setItem("larder.theme", next);
    setTheme(next);
  };

  async function loadStats() {
    const stats = await get("/api/stats").catch(() => null);
    if (!stats) return;
    const select = byId("format"), chosen = select.value;
    select.replaceChildren(new Option("Every format", ""), ...Object.entries(stats.formats || {})
      .sort((left, right) => right[1] - left[1]).map(([name, count]) => new Option(`${name.toUpperCase()} (${number.format(count)})`, name)));
    select.value = chosen;
    const counts = { any: stats.images, fresh: stats.fresh, stale: stats.stale, failed: stats.failures };
    for (const element of document.querySelectorAll("[data-count]")) {
      const count = counts[element.dataset.count];
      element.textContent = count === undefined || count === null ? "" : number.format(count);
    }
    if (stats.bytes !== undefined && stats.bytes !== null) {
      byId("use").hidden = false;
      byId("use-text").textContent = stats.limit_bytes ? `${bytes(stats.bytes)} of ${bytes(stats.limit_bytes)}` : bytes(stats.bytes);
      byId("use-meter").hidden = !stats.limit_bytes;
      byId("use-meter").value = stats.limit_bytes ? stats.bytes / stats.limit_bytes : 0;
    }
  }

  // MARK: the door

  function openLogin() {
    statusLine.textContent = "";
    if (!byId("login").open) byId("login").showModal();
  }
  byId("login").addEventListener("cancel", (event) => event.preventDefault());
  byId("login-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const token = byId("token").value.trim(), wrong = byId("login-wrong");
    wrong.textContent = "";
    try {
      const response = await fetch("/login", { method: "POST", headers: { authorization: `Bearer ${token}` } });
      if (!response.ok) throw await problemOf(response);
      byId("token").value = "";
      byId("login").close();
      begin();
    } catch (error) {
      wrong.textContent = error.status === 401 ? "That is not the token." : error.message;
      byId("token").select();
    }
  });

  function begin() { reload(); loadStats(); }

  // MARK: begin

  setTheme(localStorage.getItem("larder.theme") || "");
  const tile = localStorage.getItem("larder.tile");
  if (tile) byId("tile").value = tile;
  new ResizeObserver(layOut).observe(grid);
  window.addEventListener("scroll", render, { passive: true });
  window.addEventListener("resize", render, { passive: true });
  begin();
  const linked = location.hash.slice(1);
  if (/^[0-9a-f]{32}$/.test(linked)) get(`/api/entries/${linked}`).then((entry) => open(-1, entry)).catch(() => {});
})();
