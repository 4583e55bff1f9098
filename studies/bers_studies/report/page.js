"use strict";
// Numbers under the pointer, a slider for frames, and news of a run that goes on. The page can be
// read without any of it.
const SVG = "http://www.w3.org/2000/svg";

function pointed(group) {
  const numbers = JSON.parse(group.querySelector("script.numbers").textContent);
  const names = [...group.querySelectorAll(".keys label")].map((label) => label.textContent.trim());
  group.querySelectorAll(".charts figure").forEach((figure, i) => {
    const svg = figure.querySelector("svg"), told = figure.querySelector(".told");
    const { x, y } = numbers[i];
    const cross = document.createElementNS(SVG, "line");
    cross.setAttribute("class", "cross");
    const axis = svg.querySelector(".axis");
    const [left, right] = ["x1", "x2"].map((end) => Number(axis.getAttribute(end)));
    cross.setAttribute("y1", 0);
    cross.setAttribute("y2", axis.getAttribute("y1"));
    const place = (value) => left + ((value - x[0]) / (x[x.length - 1] - x[0] || 1)) * (right - left);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      let best = 0;
      x.forEach((value, k) => {
        if (Math.abs(place(value) - at) < Math.abs(place(x[best]) - at)) best = k;
      });
      cross.setAttribute("x1", place(x[best]));
      cross.setAttribute("x2", place(x[best]));
      svg.append(cross);
      const chosen = group.querySelector("input[type=radio]:checked");
      const lines = y[chosen ? chosen.value : ""];
      const shown = Object.keys(lines).filter((n) => {
        const box = group.querySelector(`.pick-${n}`);
        return !box || box.checked;
      });
      told.textContent =
        `${x[best]}: ` + shown.map((n) => `${names[n]} ${lines[n][best]}`).join(" · ");
    });
    svg.addEventListener("pointerleave", () => {
      cross.remove();
      told.textContent = "";
    });
  });
}

function framed(slider) {
  const drawings = [...slider.parentElement.querySelectorAll("svg.frames")];
  const input = slider.querySelector("input"), output = slider.querySelector("output");
  const count = Math.max(...drawings.map((d) => d.querySelectorAll(".frame").length));
  const show = () => {
    for (const drawing of drawings) {
      drawing.classList.add("played");
      drawing.querySelectorAll(".frame").forEach((frame, k) => {
        frame.classList.toggle("now", k === Number(input.value));
        if (k === Number(input.value)) output.textContent = frame.dataset.label;
      });
    }
  };
  input.max = count - 1;
  input.value = count - 1;
  input.addEventListener("input", show);
  slider.hidden = false;
  show();
}

// A run that goes on: the page is fetched again when something is new, and what the reader chose
// stays chosen.
const boxes = () => [...document.querySelectorAll("main input, main details")];
const state = (one) => (one.tagName === "DETAILS" ? one.open : one.type === "range" ? one.value : one.checked);

async function news() {
  try {
    const version = await (await fetch("version")).text();
    if (document.body.dataset.version === undefined) document.body.dataset.version = version;
    if (version !== document.body.dataset.version) {
      const fresh = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
      const before = new Map(boxes().map((one, i) => [i, state(one)]));
      const same = boxes().length;
      document.querySelector("main").replaceWith(fresh.querySelector("main"));
      document.querySelector("nav").replaceWith(fresh.querySelector("nav"));
      if (boxes().length === same) {
        boxes().forEach((one, i) => {
          if (one.tagName === "DETAILS") one.open = before.get(i);
          else if (one.type !== "range") one.checked = before.get(i);
        });
      }
      document.body.dataset.version = version;
      start();
    }
    document.body.classList.remove("away");
  } catch {
    document.body.classList.add("away"); // the server has stopped; the page stays as it is
  }
}

function start() {
  document.querySelectorAll(".group").forEach((group) => {
    if (group.querySelector("script.numbers")) pointed(group);
  });
  document.querySelectorAll(".slider").forEach(framed);
}

start();
if ("live" in document.body.dataset) {
  news();
  setInterval(news, 2000);
}
