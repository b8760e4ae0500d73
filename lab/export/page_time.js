// The cursor in time. All that the page shows of a moment follows from its time and its moment: the number of the
// last record that shows anything, among those that do. Times are microseconds.
const slider = document.getElementById("time");
const body = document.getElementById("body");
const now = document.createElement("span"); // the time, beside the cursor, among the times of the axis
const states = document.querySelector("#states tbody");
const chapterList = document.getElementById("chapter");
const speedList = document.getElementById("speed");
const speeds = [[0.001, "1/1000×"], [0.01, "1/100×"], [0.1, "1/10×"], [0.25, "¼×"], [1, "1×"], [4, "4×"],
                [10, "10×"], [60, "60×"]];
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const shortestWait = 1e6; // of the reader, to which waits are shortened
const moments = momentsOf(run);
const cursor = {at: run.from_us, moment: 0};
let playing = null; // {frame, drawn}: the request for the next frame, and when the last one was drawn

// What happens at each record, in order. The first moment is the start of the window.
function momentsOf(run) {
  const found = new Map([[run.first, {record: run.first, at: run.from_us, lines: [], messages: []}]]);
  const at = (record, us) => {
    if (record < run.first || record > run.last) return null;
    if (!found.has(record)) found.set(record, {record, at: us, lines: [], messages: []});
    return found.get(record);
  };
  run.lines.forEach(([record, us, node, text]) => at(record, us)?.lines.push({node, text}));
  run.messages.forEach((message, number) => {
    at(...message.sent)?.messages.push({number, isEnd: false});
    if (message.end !== null) at(...message.end)?.messages.push({number, isEnd: true});
  });
  run.states.forEach(([, record, us]) => at(record, us));
  const every = [...found.values()].sort((one, other) => one.record - other.record);
  let latest = run.from_us; // times of a foreign recording may go back
  every.forEach(each => { latest = each.at = Math.min(Math.max(each.at, latest), run.until_us); });
  return every;
}

// The place of the last of the sorted items whose key is at most this; -1 if there is none.
function lastUpTo(items, key, value) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(items[middle]) <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function momentAt(us) {
  return Math.max(0, lastUpTo(moments, each => each.at, us));
}

function seconds(us, digits = 3) {
  return (us / 1e6).toFixed(digits);
}

// the position in the diagram

function interpolate(value, knots, from, to) {
  const last = Math.max(0, Math.min(lastUpTo(knots, knot => knot[from], value), knots.length - 2));
  const [low, high] = [knots[last], knots[last + 1] ?? knots[last]];
  const share = high[from] > low[from] ? (value - low[from]) / (high[from] - low[from]) : 0;
  return low[to] + Math.max(0, Math.min(share, 1)) * (high[to] - low[to]);
}

function placeOf(us) {
  return interpolate(us, axis.knots, 0, 1);
}

function timeAt(place) {
  return interpolate(place, axis.knots, 1, 0);
}

const alongIt = {panel: axis.down ? ".above" : ".beside", scroll: axis.down ? "scrollTop" : "scrollLeft",
                 extent: axis.down ? "Height" : "Width"};
const acrossIt = {panel: axis.down ? ".beside" : ".above", scroll: axis.down ? "scrollLeft" : "scrollTop",
                  extent: axis.down ? "Width" : "Height"};

// The room for the diagram beside or below the panel that stays in sight.
function roomOf({panel, extent}) {
  return diagram["client" + extent] - document.querySelector(panel)["offset" + extent];
}

// Scroll so that the cursor is in sight; while it plays, the diagram moves along below it.
function scrollToCursor(place) {
  const room = roomOf(alongIt), seen = place - diagram[alongIt.scroll];
  if (playing !== null && !stillness.matches && seen > 0.65 * room && seen < room)
    diagram[alongIt.scroll] = place - 0.65 * room;
  else if (seen < 0.06 * room || seen > 0.94 * room) diagram[alongIt.scroll] = place - 0.3 * room;
}

// Scroll so that the lanes of these nodes are in sight, if they have room.
function scrollToNodes(places) {
  const lanes = places.map(place => axis.lanes[place]);
  const room = roomOf(acrossIt), scrolled = diagram[acrossIt.scroll], margin = 40;
  const low = Math.min(...lanes) - margin, high = Math.max(...lanes) + margin;
  if (!lanes.length || (low >= scrolled && high <= scrolled + room)) return;
  diagram[acrossIt.scroll] = high - low > room || low < scrolled ? low : high - room;
}

// what is shown at the cursor

function moveCursor(us, moment = momentAt(us)) {
  const isOther = moment !== cursor.moment;
  cursor.at = us;
  cursor.moment = moment;
  drawCursor();
  if (isOther) drawMoment();
}

function drawCursor() {
  const place = placeOf(cursor.at), side = axis.down ? "top" : "left";
  document.getElementById("cursor").style[side] = place + "px";
  document.getElementById("future").style[side] = place + "px";
  now.style[side] = place + "px";
  now.textContent = seconds(cursor.at);
  document.getElementById("clock").textContent = seconds(cursor.at) + " s";
  slider.value = Math.round(cursor.at);
  slider.setAttribute("aria-valuetext", seconds(cursor.at) + " seconds");
  scrollToCursor(place);
}

function drawMoment() {
  const {record} = moments[cursor.moment];
  document.getElementById("at").textContent = "after record " + record;
  drawStates(record);
  drawVerdicts(record);
  chapterList.selectedIndex = 1 + lastUpTo(run.chapters, chapter => chapter[0], record);
  if (pinned === null) showMessage(null);
}

const statusColours = {
  Normal: "green", Election: "orange", Reorganization: "sky", Down: "vermilion", Inside: "green", Holding: "sky",
  Waiting: "orange", Working: "sky", Uncertain: "orange", Blocked: "vermilion", killed: "vermilion",
  failed: "vermilion", paused: "purple",
};
const hasCoordinator = run.states.some(state => state[4] !== null);
const hasGroup = run.states.some(state => state[5] !== null);
const statesOf = run.nodes.map((_, place) => run.states.filter(state => state[0] === place));

function prepareStates() {
  const names = ["Node", "Status", ...(hasCoordinator ? ["Coordinator"] : []), ...(hasGroup ? ["Group"] : [])];
  const head = document.querySelector("#states thead").insertRow();
  names.forEach(name => {
    const cell = head.appendChild(document.createElement("th"));
    cell.scope = "col";
    cell.textContent = name;
  });
  run.nodes.forEach(node => {
    const row = states.insertRow();
    const name = row.appendChild(document.createElement("th"));
    name.scope = "row";
    name.textContent = node;
    names.slice(1).forEach(() => row.insertCell());
  });
}

// The nodes at which something happens, by place.
function concernedBy({lines, messages: those}) {
  const found = new Set(lines.map(line => line.node).filter(node => node !== null));
  those.forEach(({number, isEnd}) => found.add(isEnd ? messages[number].target : messages[number].source));
  return found;
}

function drawStates(record) {
  const concerned = concernedBy(moments[cursor.moment]);
  const room = document.getElementById("states");
  statesOf.forEach((known, place) => {
    const row = states.rows[place], state = known[Math.max(0, lastUpTo(known, each => each[1], record))];
    const isConcerned = concerned.has(place);
    row.classList.toggle("concerned", isConcerned);
    if (isConcerned && (row.offsetTop < room.scrollTop + 30 || row.offsetTop > room.scrollTop + room.clientHeight - 30))
      room.scrollTop = row.offsetTop - room.clientHeight / 2;
    if (row.shown === state) return;
    row.shown = state;
    const [, , , shown, coordinator, group, isLeader] = state;
    const cells = [...row.cells].slice(1);
    cells[0].textContent = shown + (isLeader ? " ★" : "");
    cells[0].className = "status-" + (statusColours[shown] ?? "");
    if (hasCoordinator) cells[1].textContent = coordinator ?? "–";
    if (hasGroup) cells[cells.length - 1].textContent = group ?? "–";
  });
}

function drawVerdicts(record) {
  const list = document.getElementById("verdicts");
  list.replaceChildren(...run.verdicts.map(verdict => {
    const item = document.createElement("li");
    const isPast = each => each !== null && each[0] <= record;
    if (isPast(verdict.failed)) item.append(span("fails", verdict.failed[1]));
    else if (isPast(verdict.excused)) item.append(span("excused", verdict.excused[1]));
    else if (verdict.since !== null && verdict.since <= record)
      item.append(span("holds", verdict.name + " holds so far"), verdict.statement && ": " + verdict.statement);
    else item.append(span("hint", verdict.name + " is not judged yet"));
    return item;
  }));
  list.closest("section").hidden = !run.verdicts.length;
}

// Show all that happened at the record of the cursor.
function showEvent() {
  const {record, at, lines, messages: those} = moments[cursor.moment];
  const shown = lines.map(({node, text}) => messageText((node === null ? "" : "node " + run.nodes[node] + ": ") + text));
  those.forEach(({number, isEnd}) => {
    const what = document.createElement("div");
    const {fate, text} = messages[number];
    what.append(span("hint", isEnd ? (fate === "delivered" ? "arrives" : fate) : "is sent"), messageText(text));
    shown.push(what);
  });
  const when = document.createElement("p");
  when.className = "hint";
  when.textContent = "record " + record + ", " + seconds(at, 6) + " s";
  details.replaceChildren(when, ...shown);
  if (!shown.length) details.append(hint());
  arrows.forEach(arrow => arrow?.classList.remove("is-now"));
  those.forEach(({number}) => arrows[number]?.classList.add("is-now"));
}

function hint() {
  const text = document.createElement("p");
  text.className = "hint";
  text.append("Space plays, → goes to the next event. Point at a message to see its ", span("past", "causal past"),
              " and its ", span("future", "causal future"), "; all others are concurrent with it.");
  return text;
}

// moves

function step(by) {
  pause();
  const isBetween = by < 0 && cursor.at > moments[cursor.moment].at; // back to the last event first
  const moment = Math.max(0, Math.min(cursor.moment + (isBetween ? 0 : by), moments.length - 1));
  moveCursor(moments[moment].at, moment);
  scrollToNodes([...concernedBy(moments[moment])]);
}

function goTo(us) {
  pause();
  moveCursor(Math.max(run.from_us, Math.min(us, run.until_us)));
}

function goToRecord(record) {
  pause();
  const moment = Math.max(0, lastUpTo(moments, each => each.record, record));
  moveCursor(moments[moment].at, moment);
  scrollToNodes([...concernedBy(moments[moment])]);
}

function goToMessage(message) {
  const isSeen = message.sent[0] >= run.first;
  if (isSeen) goToRecord(message.sent[0]); else goTo(run.from_us);
}

// playing

function isPlaying() {
  return playing !== null;
}

function play() {
  if (cursor.at >= run.until_us) moveCursor(run.from_us, 0);
  letGo();
  playing = {frame: 0, drawn: null, at: cursor.at};
  diagram.classList.add("playing");
  details.setAttribute("aria-live", "off");
  document.getElementById("play").textContent = "❚❚ Pause";
  playing.frame = requestAnimationFrame(playOn);
}

function pause() {
  if (playing === null) return;
  cancelAnimationFrame(playing.frame);
  playing = null;
  diagram.classList.remove("playing");
  details.setAttribute("aria-live", "polite");
  document.getElementById("play").textContent = "▶ Play";
}

function playOn(now) {
  const passed = playing.drawn === null ? 0 : Math.min(now - playing.drawn, 250) * 1000; // a hidden page waits
  playing.drawn = now;
  playing.at = Math.min(playing.at + passed * rate(playing.at), run.until_us);
  const moment = momentAt(playing.at), isOver = playing.at >= run.until_us;
  // a reader who asked for less motion sees the cursor at the events only
  moveCursor(stillness.matches && !isOver ? moments[moment].at : playing.at, moment);
  if (isOver) pause();
  else playing.frame = requestAnimationFrame(playOn);
}

// How much faster than the reader's time the cursor moves: at the speed chosen, or through a long wait.
function rate(us) {
  const speed = Number(speedList.value), moment = momentAt(us);
  const wait = (moments[moment + 1]?.at ?? run.until_us) - moments[moment].at;
  return document.getElementById("shorten").checked ? Math.max(speed, wait / shortestWait) : speed;
}

function prepareTime() {
  now.id = "now";
  document.querySelector(axis.down ? ".beside" : ".above").append(now);
  slider.min = run.from_us;
  slider.max = run.until_us;
  speeds.forEach(([speed, name]) => speedList.add(new Option(name, speed, speed === 1, speed === 1)));
  chapterList.add(new Option(seconds(run.from_us) + " s  start"));
  const marks = document.getElementById("marks");
  run.chapters.forEach(([, us, title, isViolation]) => {
    chapterList.add(new Option(seconds(us) + " s  " + title));
    const mark = marks.appendChild(document.createElement("i"));
    mark.style.left = 100 * (us - run.from_us) / Math.max(1, run.until_us - run.from_us) + "%";
    mark.classList.toggle("violation", isViolation);
  });
}

slider.addEventListener("input", () => goTo(Number(slider.value)));
document.getElementById("play").addEventListener("click", () => isPlaying() ? pause() : play());
document.getElementById("previous").addEventListener("click", () => step(-1));
document.getElementById("next").addEventListener("click", () => step(1));
chapterList.addEventListener("change", () => {
  const chosen = chapterList.selectedIndex - 1;
  goTo(chosen < 0 ? run.from_us : run.chapters[chosen][1]);
});
body.addEventListener("click", event => {
  const note = event.target.closest("[data-record]"), corner = body.getBoundingClientRect();
  letGo();
  if (note !== null) goToRecord(Number(note.dataset.record));
  else goTo(timeAt(axis.down ? event.clientY - corner.top : event.clientX - corner.left));
});

function changeSpeed(by) {
  speedList.selectedIndex = Math.max(0, Math.min(speedList.selectedIndex + by, speeds.length - 1));
}

const keys = {
  ",": () => step(-1), ".": () => step(1), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  Home: () => goTo(run.from_us), End: () => goTo(run.until_us),
  "<": () => changeSpeed(-1), ">": () => changeSpeed(1),
  " ": () => isPlaying() ? pause() : play(),
  "/": () => query.focus(), n: () => focusNext(1), p: () => focusNext(-1),
};
const shiftedKeys = {ArrowLeft: () => goTo(cursor.at - 5e6), ArrowRight: () => goTo(cursor.at + 5e6)};

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = document.activeElement, message = arrows.indexOf(at);
  if (event.key === "Escape") { at.blur(); letGo(); return; }
  if (at === query) { if (event.key === "Enter") focusNext(1); return; }
  if (at.matches("select")) return;
  if (event.key === " " && at.matches("button, summary, input[type=checkbox]")) return; // it presses them
  const action = event.key === "Enter" && message >= 0 ? () => choose(message)
    : (event.shiftKey && shiftedKeys[event.key]) || keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

prepareTime();
prepareStates();
search();
drawCursor();
drawMoment();
diagram.scrollTo(0, 0);
