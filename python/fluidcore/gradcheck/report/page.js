"use strict";
{
  const filter = document.getElementById("filter");
  const text = filter.querySelector("[type=search]");
  const boxes = [...filter.querySelectorAll("[type=checkbox]")];
  const rows = [...document.querySelectorAll("main > details")];

  const show = () => {
    const words = text.value.toLowerCase().split(/\s+/);
    const wanted = boxes.filter((box) => box.checked).map((box) => box.value);
    let shown = 0;
    for (const row of rows) {
      const said = row.firstElementChild.textContent.toLowerCase();
      const fits = wanted.some((style) => row.classList.contains(style));
      row.hidden = !(fits && words.every((word) => said.includes(word)));
      shown += !row.hidden;
    }
    filter.querySelector("output").value = `${shown} of ${rows.length}`;
  };

  const copy = async (pre, button) => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = document.execCommand("copy") ? "copied" : "selected";
    }
    setTimeout(() => (button.textContent = "copy"), 2000);
  };

  for (const pre of document.querySelectorAll("pre.repro")) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", () => copy(pre, button));
    pre.replaceWith(box);
    box.append(pre, button);
  }
  filter.addEventListener("input", show);
  filter.hidden = false;
  show();
}
