"use strict";
// The messages: their causal past and future, and the search.
// A message is in another's causal past if the clock with which the other was sent has reached its arrival.
const {axis, run} = JSON.parse(document.getElementById("run").textContent);
const messages = run.messages;
const diagram = document.getElementById("diagram");
const arrows = messages.map((_, number) => document.getElementById("m" + number)); // null: drawn in a shade
const details = document.getElementById("details");
const query = document.getElementById("query");
let pinned = null;

function leads(before, after) {
  return before.taken !== null && (after.clock[before.target] ?? 0) >= before.taken;
}

// Show a message with its causal past and future; null: what happened at the cursor.
function showMessage(number) {
  const it = number === null ? null : messages[number];
  let past = 0, future = 0;
  diagram.classList.toggle("one", it !== null);
  arrows.forEach((arrow, other) => {
    if (arrow === null) return;
    const isPast = it !== null && other !== number && leads(messages[other], it);
    const isFuture = it !== null && other !== number && leads(it, messages[other]);
    arrow.classList.toggle("is-it", other === number);
    arrow.classList.toggle("is-past", isPast);
    arrow.classList.toggle("is-future", isFuture);
    past += isPast;
    future += isFuture;
  });
  if (it === null) { showEvent(); return; }
  const counts = document.createElement("p");
  counts.className = "hint";
  counts.append(span("past", past + " in its causal past"), ", ", span("future", future + " in its causal future"));
  const text = messageText(it.text);
  text.classList.toggle("pinned", pinned !== null);
  details.replaceChildren(text, counts);
}

function messageText(text) {
  const made = document.createElement("pre");
  made.className = "message";
  made.textContent = text;
  return made;
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

function pin(number) {
  pinned = pinned === number ? null : number;
  showMessage(pinned);
}

function letGo() {
  pinned = null;
  showMessage(null);
}

// Go to a message, and keep its causal past and future in sight; or let go of it.
function choose(number) {
  pin(number);
  if (pinned !== null) goToMessage(messages[number]);
}

function isFound(number) {
  return messages[number].text.toLowerCase().includes(query.value.trim().toLowerCase());
}

function search() {
  const searching = query.value.trim() !== "";
  diagram.classList.toggle("query", searching);
  let found = 0;
  arrows.forEach((arrow, number) => {
    const fits = isFound(number);
    found += fits;
    if (arrow !== null) arrow.classList.toggle("is-found", searching && fits);
  });
  document.getElementById("count").textContent =
    (searching ? found.toLocaleString("en") + " of " : "") + messages.length.toLocaleString("en") + " messages";
}

// Move the focus to the next message found, or to the previous one.
function focusNext(by) {
  const found = arrows.map((_, number) => number).filter(number => arrows[number] !== null && isFound(number));
  if (!found.length) return;
  const here = found.indexOf(arrows.indexOf(document.activeElement));
  const next = found[here < 0 ? (by > 0 ? 0 : found.length - 1) : (here + by + found.length) % found.length];
  pinned = null;
  arrows[next].focus({preventScroll: true});
  arrows[next].scrollIntoView({block: "center", inline: "center"});
}

arrows.forEach((arrow, number) => {
  if (arrow === null) return;
  arrow.setAttribute("role", "button");
  arrow.setAttribute("aria-label", messages[number].text);
  arrow.addEventListener("mouseenter", () => { if (pinned === null && !isPlaying()) showMessage(number); });
  arrow.addEventListener("mouseleave", () => { if (pinned === null && !isPlaying()) showMessage(null); });
  arrow.addEventListener("focus", () => { if (pinned === null && arrow.matches(":focus-visible")) showMessage(number); });
  arrow.addEventListener("blur", () => { if (pinned === null) showMessage(null); });
  arrow.addEventListener("click", event => { event.stopPropagation(); choose(number); });
});
query.addEventListener("input", search);
