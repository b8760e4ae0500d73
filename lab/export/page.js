"use strict";
// A message is in another's past when the other's sender could know of it as it sent: its clock has come that far.
const messages = JSON.parse(document.getElementById("messages").textContent);
const svg = document.querySelector("#diagram svg");
const shown = messages.map((_, number) => document.getElementById("m" + number));
const words = shown.map(each => each.querySelector("title").textContent);
const told = document.getElementById("told");
const hint = told.innerHTML;
const sought = document.getElementById("sought");
const count = document.getElementById("count");
let held = null;

function leads(before, after) {
  return before.taken !== null && (after.clock[before.to] ?? 0) >= before.taken;
}

function show(number) {
  const it = number === null ? null : messages[number];
  let past = 0, future = 0;
  svg.classList.toggle("one", it !== null);
  told.classList.toggle("held", held !== null);
  shown.forEach((each, other) => {
    const isPast = it !== null && leads(messages[other], it);
    const isFuture = it !== null && leads(it, messages[other]);
    each.classList.toggle("is-it", other === number);
    each.classList.toggle("is-past", isPast && other !== number);
    each.classList.toggle("is-future", isFuture && other !== number);
    past += isPast; future += isFuture;
  });
  if (it === null) { told.innerHTML = hint; return; }
  const text = document.createElement("pre");
  text.textContent = words[number];
  const about = document.createElement("p");
  about.className = "hint";
  about.append(span("past", past + " led to it"), ", ", span("future", future + " followed from it"),
               held === null ? "" : " · held");
  told.replaceChildren(text, about);
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

function hold(number) {
  held = held === number ? null : number;
  show(held);
}

function go(by) {
  const found = shown.map((_, number) => number).filter(number => isFound(number));
  if (!found.length) return;
  const here = found.indexOf(shown.indexOf(document.activeElement));
  const next = found[here < 0 ? (by > 0 ? 0 : found.length - 1) : (here + by + found.length) % found.length];
  held = null;
  shown[next].focus();
  shown[next].scrollIntoView({block: "center", inline: "nearest"});
}

function isFound(number) {
  return words[number].toLowerCase().includes(sought.value.trim().toLowerCase());
}

function search() {
  const wanted = sought.value.trim() !== "";
  svg.classList.toggle("sought", wanted);
  shown.forEach((each, number) => each.classList.toggle("is-found", wanted && isFound(number)));
  const found = shown.filter((_, number) => isFound(number)).length;
  count.textContent = (wanted ? found + " of " : "") + messages.length + " messages";
}

shown.forEach((each, number) => {
  each.addEventListener("mouseenter", () => { if (held === null) show(number); });
  each.addEventListener("mouseleave", () => { if (held === null) show(null); });
  each.addEventListener("focus", () => { if (held === null) show(number); });
  each.addEventListener("blur", () => { if (held === null) show(null); });
  each.addEventListener("click", event => { event.stopPropagation(); hold(number); });
});
svg.addEventListener("click", () => { held = null; show(null); });
sought.addEventListener("input", search);
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { held = null; document.activeElement.blur(); show(null); return; }
  if (document.activeElement === sought) { if (event.key === "Enter") go(1); return; }
  const here = shown.indexOf(document.activeElement);
  if (event.key === "/") { sought.focus(); event.preventDefault(); }
  else if (event.key === "n") go(1);
  else if (event.key === "p") go(-1);
  else if (event.key === "Enter" && here >= 0) hold(here);
});
search();
