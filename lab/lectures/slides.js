"use strict";
// One slide is shown at a time. The number of the slide is in the address, so a reload keeps the place.

const slides = [...document.querySelectorAll("section")];
const began = Date.now();
let place = 0;

function show(number) {
  place = Math.max(0, Math.min(number, slides.length - 1));
  slides.forEach((slide, each) => { slide.hidden = each !== place; });
  history.replaceState(null, "", `#${place}`);
  fit();
  describe();
}

// A text that is too long for its slide gets smaller letters; what is still too long scrolls.
function fit() {
  const text = slides[place].querySelector(".text");
  if (!text) return;
  text.style.fontSize = "";
  let size = parseFloat(getComputedStyle(text).fontSize);
  const least = size * 0.6;
  while (text.scrollHeight > text.clientHeight && size > least) {
    size *= 0.95;
    text.style.fontSize = `${size}px`;
  }
}

function describe() {
  const minutes = Math.floor((Date.now() - began) / 60000);
  const clock = document.body.classList.contains("presenter") ? ` · ${minutes} min` : "";
  document.getElementById("place").textContent = `${place} / ${slides.length - 1}${clock}`;
}

// Forward first shows the answer of a question.
function forward() {
  const question = slides[place].querySelector(".question");
  if (question && !question.classList.contains("shown")) {
    question.classList.add("shown");
    fit();
  } else show(place + 1);
}

const KEYS = {
  ArrowRight: forward, PageDown: forward, " ": forward, Enter: forward,
  ArrowLeft: () => show(place - 1), PageUp: () => show(place - 1),
  Home: () => show(0), End: () => show(slides.length - 1),
  a: () => { slides[place].querySelector(".question")?.classList.toggle("shown"); fit(); },
  n: () => { document.body.classList.toggle("presenter"); fit(); describe(); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("a")) event.clientX < innerWidth / 4 ? show(place - 1) : forward();
});
addEventListener("resize", fit);
addEventListener("hashchange", () => show(Number(location.hash.slice(1)) || 0));
setInterval(describe, 10000);
show(Number(location.hash.slice(1)) || 0);
