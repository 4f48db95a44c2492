"use strict";
{
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const stage = byId("stage"), details = byId("details"), found = byId("found"), crumbs = byId("crumbs");
  const search = document.querySelector("[type=search]");
  const pictures = new Map([...document.querySelectorAll("template")].map((t) => [t.dataset.view, t.content]));
  const first = stage.firstElementChild;
  const LEAST = 0.55; // of its natural size: a larger picture is not shown as a whole at first
  let touched = false; // whether the reader has zoomed or moved
  let svg = first, current = "", box = { x: 0, y: 0, scale: 1 };

  const element = (tag, text, parent, style) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (style) made.className = style;
    if (parent) parent.append(made);
    return made;
  };

  // zoom and pan: the part of the picture that is seen
  const look = () => {
    const { clientWidth: width, clientHeight: height } = stage;
    svg.setAttribute("viewBox", `${box.x} ${box.y} ${width / box.scale} ${height / box.scale}`);
  };
  const size = () => [svg.getAttribute("width"), svg.getAttribute("height")].map(Number);
  const fit = (whole) => {
    const [width, height] = size();
    const all = Math.min(stage.clientWidth / width, stage.clientHeight / height, 1.25);
    touched = whole;
    const scale = whole ? all : Math.max(all, Math.min(LEAST, stage.clientWidth / width, 1));
    box = { scale, x: (width - stage.clientWidth / scale) / 2, y: Math.min(0, (height - stage.clientHeight / scale) / 2) };
    look();
  };
  const zoom = (factor, at) => {
    touched = true;
    const bounds = stage.getBoundingClientRect();
    const x = at ? at.clientX - bounds.left : bounds.width / 2;
    const y = at ? at.clientY - bounds.top : bounds.height / 2;
    const scale = Math.min(Math.max(box.scale * factor, 0.02), 8);
    box = { scale, x: box.x + x / box.scale - x / scale, y: box.y + y / box.scale - y / scale };
    look();
  };
  let grip = null;
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), event);
  }, { passive: false });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0) grip = { x: event.clientX, y: event.clientY, moved: false };
  });
  addEventListener("pointermove", (event) => {
    if (!grip) return;
    const x = event.clientX - grip.x, y = event.clientY - grip.y;
    if (!grip.moved && Math.hypot(x, y) < 4) return;
    touched = true;
    box.x -= x / box.scale;
    box.y -= y / box.scale;
    grip = { x: event.clientX, y: event.clientY, moved: true };
    stage.classList.add("moved");
    look();
  });
  addEventListener("pointerup", () => {
    const moved = grip && grip.moved;
    grip = null;
    if (moved) setTimeout(() => stage.classList.remove("moved")); // after the click that it is not
  });
  addEventListener("pointercancel", () => { grip = null; stage.classList.remove("moved"); });
  addEventListener("resize", () => (touched ? look() : fit(false)));

  // views: the whole program, or what a box stands for
  const show = (view) => {
    current = view;
    svg = view === "" ? first : pictures.get(view).firstElementChild.cloneNode(true);
    stage.replaceChildren(svg);
    for (const node of svg.querySelectorAll(".node:not(.input)")) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "button");
    }
    const way = [];
    for (let at = view; at !== ""; at = data.views[at].parent) way.unshift(at);
    crumbs.replaceChildren();
    for (const at of ["", ...way]) {
      const button = element("button", at === "" ? "Program" : data.views[at].title, crumbs);
      button.type = "button";
      button.addEventListener("click", () => show(at));
      if (at === view) button.setAttribute("aria-current", "page");
    }
    close();
    fit(false);
  };
  const nodeOf = (id) => [...svg.querySelectorAll(".node")].find((node) => node.dataset.id === id);
  const choose = (id) => {
    for (const node of svg.querySelectorAll(".chosen")) node.classList.remove("chosen");
    const chosen = nodeOf(id);
    if (chosen) chosen.classList.add("chosen");
    for (const edge of svg.querySelectorAll(".edge")) {
      edge.classList.toggle("lit", edge.dataset.from === id || edge.dataset.to === id);
    }
    return chosen;
  };
  const center = (node) => {
    const bounds = node.getBoundingClientRect(), around = stage.getBoundingClientRect();
    box.x += (bounds.left + bounds.width / 2 - around.left - around.width / 2) / box.scale;
    box.y += (bounds.top + bounds.height / 2 - around.top - around.height / 2) / box.scale;
    look();
  };
  const isSeen = (node) => {
    const bounds = node.getBoundingClientRect(), around = stage.getBoundingClientRect();
    return bounds.left >= around.left && bounds.right <= around.right &&
      bounds.top >= around.top && bounds.bottom <= around.bottom;
  };
  const close = () => {
    details.hidden = true;
    choose(null);
    look();
  };

  // details of an operator
  const slots = (title, given, parent) => {
    if (!Object.keys(given).length) return;
    element("h3", title, parent);
    const list = element("dl", undefined, parent);
    for (const [slot, values] of Object.entries(given)) {
      element("dt", slot, list);
      const cell = element("dd", undefined, list);
      for (const number of values) {
        const [name, label, kind] = data.values[number];
        const line = element("div", undefined, cell);
        element("code", name, line);
        element("small", ` ${label}${kind ? `, ${kind}` : ""}`, line);
      }
    }
  };
  const describe = (id) => {
    const op = data.ops[id];
    details.replaceChildren();
    const button = element("button", "×", details, "close");
    button.setAttribute("aria-label", "Close");
    button.addEventListener("click", close);
    element("h2", op.type, details);
    const [block, number] = id.split(".");
    element("small", `operator ${number} of block ${block}, ${op.role}`, details);
    if (data.docs[op.type]) element("p", data.docs[op.type], details);
    if (op.site) {
      element("h3", "added at", details);
      element("code", op.site, details);
    }
    slots("reads", op.inputs, details);
    slots("writes", op.outputs, details);
    if (op.attrs.length) {
      element("h3", "attributes; pale ones are defaults", details);
      const list = element("dl", undefined, details);
      for (const [name, value, notable] of op.attrs) {
        element("dt", name, list, notable ? "" : "default");
        element("dd", value, list, notable ? "" : "default");
      }
    }
    details.hidden = false;
    details.scrollTop = 0;
    look();
    const chosen = choose(id);
    if (chosen && !isSeen(chosen)) center(chosen); // the details may stand where it was
  };
  const open = (node) => {
    if (!node || node.classList.contains("input")) return close();
    if (node.classList.contains("group")) return show(node.dataset.id);
    return describe(node.dataset.id);
  };
  stage.addEventListener("click", (event) => {
    if (!stage.classList.contains("moved")) open(event.target.closest(".node"));
  });
  const goTo = (id) => {
    if (data.ops[id].view !== current) show(data.ops[id].view);
    describe(id);
    const node = nodeOf(id);
    if (!node) return;
    if (box.scale < LEAST) zoom(1 / box.scale);
    if (!isSeen(node)) center(node);
  };

  // search, in all views
  const SHOWN = 60;
  const texts = Object.entries(data.ops).map(([id, op]) => {
    const names = Object.values(op.outputs).flat().map((number) => data.values[number][0]);
    const read = Object.values(op.inputs).flat().map((number) => data.values[number][0]);
    return [id, [op.type, ...names, ...read, op.site, id].join(" ").toLowerCase(), names[0] || ""];
  });
  const look_for = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    if (!words.length) return;
    const hits = texts.filter(([, text]) => words.every((word) => text.includes(word)));
    for (const [id, , name] of hits.slice(0, SHOWN)) {
      const button = element("button", `${data.ops[id].type} `, element("li", undefined, found));
      button.type = "button";
      element("small", `${name} · ${data.ops[id].site || id}`, button);
      button.addEventListener("click", () => { found.replaceChildren(); goTo(id); });
    }
    const rest = hits.length - SHOWN;
    if (!hits.length || rest > 0) element("li", hits.length ? `and ${rest} more` : "nothing", found, "more");
  };
  search.addEventListener("input", look_for);
  search.addEventListener("focus", look_for);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector("button")?.click();
  });
  addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".search")) found.replaceChildren();
  });

  const tools = { "+": () => zoom(1.25), "-": () => zoom(0.8), "0": () => fit(true) };
  for (const button of document.querySelectorAll(".tools button")) {
    button.addEventListener("click", tools[button.value]);
  }
  addEventListener("keydown", (event) => {
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; found.replaceChildren(); search.blur(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in tools) tools[event.key]();
    else if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.key === "Enter" || event.key === " ") {
      const node = event.target.closest?.(".node");
      if (node) { event.preventDefault(); open(node); }
    } else if (event.key === "Escape") {
      if (!details.hidden) close();
      else if (current !== "") show(data.views[current].parent);
    }
  });
  document.documentElement.classList.add("scripted");
  show("");
}
