// The terminal of the page: it sends keys as bytes and the window's size as JSON, and displays what it receives.

import { FitAddon } from "/static/xterm/addon-fit.mjs";
import { Unicode11Addon } from "/static/xterm/addon-unicode11.mjs";
import { Terminal } from "/static/xterm/xterm.mjs";

const LONGEST_MESSAGE = 4096; // bytes; longer input is split

const style = getComputedStyle(document.documentElement);
const terminal = new Terminal({
  allowProposedApi: true, // for Unicode 11 character widths
  fontFamily: style.getPropertyValue("--mono"),
  fontSize: 15,
  scrollback: 0,
  theme: {
    background: style.getPropertyValue("--background"),
    foreground: style.getPropertyValue("--text"),
    cursor: style.getPropertyValue("--sky"),
  },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";
terminal.open(document.getElementById("terminal"));
fit.fit();
terminal.focus();

const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/terminal`);
socket.binaryType = "arraybuffer";
const encoder = new TextEncoder();

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(message);
}

function sendSize() {
  send(JSON.stringify({ columns: terminal.cols, rows: terminal.rows }));
}

socket.onopen = sendSize;
socket.onmessage = (message) => terminal.write(new Uint8Array(message.data));
socket.onclose = (closed) => {
  showEnd(closed.code === 1000 ? "The session has ended." : "The connection was lost; your cluster keeps running for a while.");
};
terminal.onData((typed) => {
  const bytes = encoder.encode(typed);
  for (let at = 0; at < bytes.length; at += LONGEST_MESSAGE) send(bytes.subarray(at, at + LONGEST_MESSAGE));
});
terminal.onResize(sendSize);
new ResizeObserver(() => fit.fit()).observe(document.getElementById("terminal"));

// the laboratory copies by OSC 52; it may not read the clipboard
terminal.parser.registerOscHandler(52, (data) => {
  const [, text] = data.split(";");
  if (text && text !== "?") {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    copy(new TextDecoder().decode(bytes));
  }
  return true;
});

function copy(text) {
  if (navigator.clipboard) {
    navigator.clipboard.writeText(text);
    return;
  }
  // plain HTTP has no Clipboard API
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
  terminal.focus();
}

function showEnd(why) {
  document.getElementById("why").textContent = why;
  document.getElementById("over").hidden = false;
  document.getElementById("again").focus();
}

document.getElementById("again").onclick = async () => {
  try {
    await fetch("/", { cache: "no-store" });
    location.reload();
  } catch {
    showEnd("The server does not answer; try again later.");
  }
};
