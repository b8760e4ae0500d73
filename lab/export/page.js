"use strict";
// A message is in another's causal past if the clock with which the other was sent has reached its arrival.
const messages = JSON.parse(document.getElementById("messages").textContent);
const svg = document.querySelector("#diagram svg");
const shown = messages.map((_, number) => document.getElementById("m" + number));
const words = shown.map(each => each.querySelector("title").textContent);
const details = document.getElementById("details");
const hint = details.innerHTML;
const query = document.getElementById("query");
const count = document.getElementById("count");
let pinned = null;

function leads(before, after) {
  return before.taken !== null && (after.clock[before.to] ?? 0) >= before.taken;
}

function show(number) {
  const it = number === null ? null : messages[number];
  let past = 0, future = 0;
  svg.classList.toggle("one", it !== null);
  details.classList.toggle("pinned", pinned !== null);
  shown.forEach((each, other) => {
    const isPast = it !== null && leads(messages[other], it);
    const isFuture = it !== null && leads(it, messages[other]);
    each.classList.toggle("is-it", other === number);
    each.classList.toggle("is-past", isPast && other !== number);
    each.classList.toggle("is-future", isFuture && other !== number);
    past += isPast; future += isFuture;
  });
  if (it === null) { details.innerHTML = hint; return; }
  const text = document.createElement("pre");
  text.textContent = words[number];
  const counts = document.createElement("p");
  counts.className = "hint";
  counts.append(span("past", past + " in its causal past"), ", ", span("future", future + " in its causal future"),
               pinned === null ? "" : " · pinned");
  details.replaceChildren(text, counts);
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

function pin(number) {
  pinned = pinned === number ? null : number;
  show(pinned);
}

function go(by) {
  const found = shown.map((_, number) => number).filter(number => isFound(number));
  if (!found.length) return;
  const here = found.indexOf(shown.indexOf(document.activeElement));
  const next = found[here < 0 ? (by > 0 ? 0 : found.length - 1) : (here + by + found.length) % found.length];
  pinned = null;
  shown[next].focus();
  shown[next].scrollIntoView({block: "center", inline: "nearest"});
}

function isFound(number) {
  return words[number].toLowerCase().includes(query.value.trim().toLowerCase());
}

function search() {
  const searching = query.value.trim() !== "";
  svg.classList.toggle("query", searching);
  shown.forEach((each, number) => each.classList.toggle("is-found", searching && isFound(number)));
  const found = shown.filter((_, number) => isFound(number)).length;
  count.textContent = (searching ? found + " of " : "") + messages.length + " messages";
}

shown.forEach((each, number) => {
  each.addEventListener("mouseenter", () => { if (pinned === null) show(number); });
  each.addEventListener("mouseleave", () => { if (pinned === null) show(null); });
  each.addEventListener("focus", () => { if (pinned === null) show(number); });
  each.addEventListener("blur", () => { if (pinned === null) show(null); });
  each.addEventListener("click", event => { event.stopPropagation(); pin(number); });
});
svg.addEventListener("click", () => { pinned = null; show(null); });
query.addEventListener("input", search);
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { pinned = null; document.activeElement.blur(); show(null); return; }
  if (document.activeElement === query) { if (event.key === "Enter") go(1); return; }
  const here = shown.indexOf(document.activeElement);
  if (event.key === "/") { query.focus(); event.preventDefault(); }
  else if (event.key === "n") go(1);
  else if (event.key === "p") go(-1);
  else if (event.key === "Enter" && here >= 0) pin(here);
});
search();
