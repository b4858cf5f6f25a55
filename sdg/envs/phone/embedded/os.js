"use strict";
// The phone's system: one state as JSON, a screen drawn from it alone, time that passes only when it is told to.
// An app is {title, icon, color, screens: {name: (data, page) => view}}; a view is plain data with functions in it.

const apps = {};
let S = null;            // the whole state
let handlers = [];       // what each pressable thing of the screen drawn last does

const clone = value => JSON.parse(JSON.stringify(value));
const escapeText = text => String(text).replace(/[&<>"']/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})[c]);
const two = number => String(number).padStart(2, "0");
const date = () => new Date(S.os.now * 1000).toISOString();
const today = () => date().slice(0, 10);
const isTime = text => /^([01]?\d|2[0-3]):[0-5]\d$/.test(text);
const isDate = text => /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.test(text);
const fullTime = text => text.length === 4 ? "0" + text : text;
const nextId = list => 1 + Math.max(0, ...list.map(each => each.id));
const byId = (list, id) => list.find(each => each.id === id);
const has = (text, part) => String(text).toLowerCase().includes(String(part || "").toLowerCase());
const money = amount => (amount / 100).toFixed(2);

// --- moving about
const stack = () => S.os.stacks[S.os.front];
const page = () => S.os.front ? stack()[stack().length - 1] : null;
const data = () => S[S.os.front];
function open(app, name = "main", args = {}) {
  S.os.front = app;
  S.os.shade = false;
  if (!S.os.stacks[app] || name !== "main") S.os.stacks[app] = [{name: "main", args: {}, draft: {}, scroll: 0}];
  if (name !== "main") go(name, args);
}
function go(name, args = {}, draft = {}) {
  hideKeyboard();
  stack().push({name, args, draft, scroll: 0});
}
function leave(pages = 1) {
  hideKeyboard();
  for (let n = 0; n < pages && stack().length > 1; n++) stack().pop();
}
function hideKeyboard() { S.os.keyboard = false; S.os.focus = null; }
function toast(text) { S.os.toast = {text, until: S.os.now + 3}; }
function later(seconds, what) { S.os.due.push({at: S.os.now + seconds, ...what}); }
function notify(app, title, text, name = "main", args = {}) {
  S.os.notices.push({id: nextId(S.os.notices), app, title, text, name, args});
}
const confirmed = (title, text, yes, run) => ({dialog: true, title, items: [{type: "text", t: text}],
  ends: [{t: "Cancel", do: () => leave()}, {t: yes, do: run}]});
const choices = (title, options, chosen, pick) => ({dialog: true, title,
  items: options.map(t => ({type: "row", t, radio: t === chosen, do: () => { leave(); pick(t); }})), ends: [{t: "Cancel", do: () => leave()}]});
// A row that shows a setting and asks for another by a dialog of the app, whose page is `ask`.
const pickRow = (t, v, name, args = {}) => ({type: "row", t, v, do: () => go(name, args)});

// --- views
function viewOf(at) { return apps[S.os.front].screens[at.name](data(), at); }
function views() {
  if (!S.os.front) return [];
  const pages = stack(), shown = [viewOf(pages[pages.length - 1])];
  for (let n = pages.length - 2; n >= 0 && shown[0].dialog; n--) shown.unshift(viewOf(pages[n]));
  return shown;
}
function on(run) { handlers.push(run); return handlers.length - 1; }
function node(kind, {cls = "", flags = "", desc = "", res = "", run = null, long = null, tag = "div", style = ""} = {}, inner = "") {
  const live = [flags, run ? "clickable focusable" : "", long ? "long-clickable" : ""].join(" ").trim();
  return `<${tag} class="${cls}" style="${style}" data-c="${kind}" data-f="${live}" data-d="${escapeText(desc)}" data-r="${res}"` +
    (run ? ` data-h="${on(run)}"` : "") + (long ? ` data-l="${on(long)}"` : "") + `>${inner}</${tag}>`;
}
const words = (text, cls = "") => text === undefined || text === "" ? "" : node("TextView", {cls}, escapeText(text));
function drawItem(item, at) {
  if (item.type === "head") return words(item.t, "block-title");
  if (item.type === "text") return words(item.t, "plain");
  if (item.type === "button") return node("Button", {cls: `press button button-large button-round ${item.kind === "quiet" ? "button-tonal" : "button-fill"} ${item.kind || ""}`, run: item.do}, escapeText(item.t));
  if (item.type === "chips") return node("LinearLayout", {cls: "chips"}, item.items.map(each => node("CheckBox",
    {cls: `chip ${each.on ? "on" : "chip-outline"}`, flags: `checkable ${each.on ? "checked" : ""}`, run: each.do}, escapeText(each.t))).join(""));
  if (item.type === "field") return drawField(item, at);
  const flags = item.radio === undefined ? "" : `checkable ${item.radio ? "checked" : ""}`;
  const sign = item.lead || (item.radio === undefined ? "" : item.radio ? "◉" : "○");
  const lead = sign ? `<div class="item-media">${escapeText(sign)}</div>` : "";
  const toggle = item.sw ? node("Switch", {tag: "label", cls: "toggle", res: item.sw.res || "switch",
    desc: item.sw.desc || "", flags: `checkable ${item.sw.on ? "checked" : ""}`, run: item.sw.do},
    `<input type="checkbox" tabindex="-1" ${item.sw.on ? "checked" : ""}><span class="toggle-icon"></span>`) : "";
  return node("LinearLayout", {tag: "li", flags, run: item.do, long: item.long},
    `<div class="item-content">${lead}<div class="item-inner"><div class="item-title-row">${words(item.t, "item-title")}` +
    `${words(item.v, "item-after")}</div>${words(item.s, "item-subtitle")}</div>${toggle}</div>`);
}
function drawField(item, at) {
  const focused = S.os.focus === item.id, value = at.draft[item.id] ?? "";
  const shared = `class="${focused ? "focused" : ""}" data-c="EditText" data-field="${item.id}" data-r="${item.id}" data-d="${escapeText(item.label)}"` +
    ` data-f="clickable focusable long-clickable ${focused ? "focused" : ""} ${item.password ? "password" : ""}"`;
  const kind = item.password ? "password" : "text";
  const box = item.multi ? `<textarea ${shared}>${escapeText(value)}</textarea>`
    : `<input type="${kind}" autocomplete="off" ${shared} value="${escapeText(value)}">`;
  return `<div class="field"><label>${escapeText(item.label)}</label>${box}</div>`;
}
function drawView(view, at) {
  const items = (view.items || []).filter(Boolean).map(each => drawItem(each, at)).join("");
  const body = node("ScrollView", {cls: "scroll", flags: "scrollable"}, `<div class="list media-list"><ul>${items}</ul></div>`);
  if (view.dialog) return `<div class="shadow">` + node("FrameLayout", {cls: "box"}, words(view.title, "name") + body +
    `<div class="ends">${view.ends.map(each => node("Button", {run: each.do}, escapeText(each.t))).join("")}</div>`) + `</div>`;
  const back = stack().length > 1 ? node("ImageButton", {cls: "act", desc: "Back", run: () => leave()}, "←") : "";
  const acts = (view.actions || []).filter(Boolean).map(each => node("ImageButton", {cls: "act", desc: each.desc, run: each.do}, each.icon));
  const tabs = view.tabs ? `<div class="tabs-row">${view.tabs.map(each => node("Button",
    {cls: each.on ? "on" : "", flags: each.on ? "selected" : "", run: each.do}, escapeText(each.t))).join("")}</div>` : "";
  return `<div class="bar">${back}${words(view.title, "name")}${acts.join("")}</div>${tabs}${body}` +
    (view.fab ? node("ImageButton", {cls: "plus", desc: view.fab.desc, run: view.fab.do}, "+") : "");
}
const home = () => node("FrameLayout", {cls: "window", style: "background:#d7e3f4"}, `<div class="grid">` + Object.entries(apps).map(([name, app]) =>
  node("LinearLayout", {cls: "app", res: `app_${name}`, run: () => open(name)},
    `<span class="face" style="background:${app.color}">${app.icon}</span>` + words(app.title))).join("") + `</div>`);
function shade() {
  const rows = S.os.notices.map(each => ({type: "row", t: each.title, s: each.text, lead: apps[each.app].icon, do: () => {
    S.os.notices = S.os.notices.filter(other => other.id !== each.id);
    open(each.app, each.name, each.args);
  }}));
  const clear = {type: "button", t: "Clear all", kind: "quiet", do: () => { S.os.notices = []; S.os.shade = false; }};
  return node("FrameLayout", {cls: "shade"}, `<div class="list media-list"><ul>` + [{type: "head", t: rows.length ? "Notifications" : "No notifications"}, ...rows,
    ...(rows.length ? [clear] : [])].map(each => drawItem(each, null)).join("") + `</ul></div>`);
}
const LETTERS = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm,.:-"];
function keyboard() {
  const key = (text, run, cls = "") => `<div class="key ${cls}" data-h="${on(run)}">${escapeText(text)}</div>`;
  const put = change => () => { page().draft[S.os.focus] = change(page().draft[S.os.focus] || ""); };
  const rows = LETTERS.map(row => [...row].map(each => key(each, put(text => text + each))).join(""));
  rows.push(key(" ", put(text => text + " "), "wide") + key("⌫", put(text => [...text].slice(0, -1).join("")), "wide") + key("⏎", enter, "wide"));
  return `<div class="keys">${rows.map(row => `<div>${row}</div>`).join("")}</div>`;
}
function draw() {
  handlers = [];
  const screen = document.getElementById("screen"), shown = views(), pages = S.os.front ? stack() : [];
  screen.className = `framework7-root ${S.settings.dark ? "dark" : ""}`;
  const content = S.os.front ? shown.map((view, n) => drawView(view, pages[pages.length - shown.length + n])).join("") : home();
  const icons = [S.settings.airplane ? "✈" : S.settings.wifi ? "Wi-Fi" : "4G", S.settings.dnd ? "⊘" : "", `${S.settings.battery} %`];
  screen.innerHTML = `<div class="status"><span>${date().slice(11, 16)}${S.os.notices.length ? ` • ${S.os.notices.length}` : ""}</span>` +
    `<span>${icons.join(" ")}</span></div><div class="window">${content}</div>` + (S.os.keyboard ? keyboard() : "") +
    `<div class="gesture"></div>` + (S.os.shade ? shade() : "") +
    (S.os.toast ? `<div class="toast-note" data-c="TextView" data-f="" data-d="" data-r="toast">${escapeText(S.os.toast.text)}</div>` : "");
  const scrolls = screen.querySelectorAll(".window .scroll");
  scrolls.forEach((each, n) => { each.scrollTop = pages[pages.length - scrolls.length + n]?.scroll || 0; });
  const field = S.os.focus && [...screen.querySelectorAll("[data-field]")].filter(each => each.dataset.field === S.os.focus).pop();
  if (field) {
    field.focus({preventScroll: true});
    if (field.setSelectionRange) field.setSelectionRange(field.value.length, field.value.length);
    const holder = field.closest(".scroll"), below = field.getBoundingClientRect().bottom - holder.getBoundingClientRect().bottom;
    if (below > 0) { holder.scrollTop += below + 8; page().scroll = holder.scrollTop; }
  } else if (document.activeElement) document.activeElement.blur();
}

// --- what the hand and the keys do
function enter() {
  const item = (views().pop()?.items || []).find(each => each && each.id === S.os.focus);
  if (item && item.multi) { page().draft[item.id] = (page().draft[item.id] || "") + "\n"; return; }
  hideKeyboard();
  if (item && item.enter) item.enter();
}
function touch(x0, y0, x1, y1, held) {
  const target = document.elementFromPoint(x0, y0) || document.body, down = y1 - y0;
  S.os.now += held;
  if (Math.hypot(x1 - x0, down) > 12) drag(target, y0, down);
  else press(target, held > 0);
}
function type(text) {
  const field = document.activeElement;
  field.value = text;
  page().draft[S.os.focus] = field.value;
}
function press(target, long) {
  const field = target.closest("[data-field]"), held = long && target.closest("[data-l]");
  const live = held || target.closest("[data-h]");
  if (field) { S.os.focus = field.dataset.field; S.os.keyboard = true; }
  else if (live) handlers[held ? live.dataset.l : live.dataset.h]();
  else if (S.os.shade && !target.closest(".shade")) S.os.shade = false;
}
function drag(target, from, down) {
  if (S.os.shade) { if (down < 0) S.os.shade = false; return; }
  if (from < 24 && down > 60) { S.os.shade = true; return; }
  const holder = target.closest(".scroll");
  if (holder && page()) { holder.scrollTop -= down; page().scroll = holder.scrollTop; }
}
function back() {
  if (S.os.shade) S.os.shade = false;
  else if (S.os.keyboard) hideKeyboard();
  else if (S.os.front && stack().length > 1) leave();
  else S.os.front = "";
}
function advance(seconds) {
  S.os.now += seconds;
  if (S.os.toast && S.os.toast.until <= S.os.now) S.os.toast = null;
  const due = S.os.due.filter(each => each.at <= S.os.now);
  S.os.due = S.os.due.filter(each => each.at > S.os.now);
  for (const each of due) if (each.what === "notify") notify(each.app, each.title, each.text, each.name, each.args);
  // What is loading is loaded when its time has come; a page compares `until` with the clock.
}

// --- the tree as uiautomator writes it
function dump(scale) {
  const cut = (box, outer) => [Math.max(box[0], outer[0]), Math.max(box[1], outer[1]), Math.min(box[2], outer[2]), Math.min(box[3], outer[3])];
  const text = element => element.dataset.field !== undefined
    ? (element.type === "password" ? "•".repeat(element.value.length) : element.value)
    : ["TextView", "Button", "CheckBox"].includes(element.dataset.c) ? element.textContent : "";
  const pack = "sdg.phone." + (S.os.shade ? "system" : S.os.front || "launcher");
  const names = ["checkable", "checked", "clickable", "focusable", "focused", "scrollable", "long-clickable", "password", "selected"];
  function walk(element, outer, index) {
    let box = outer, inner = "", n = 0;
    const own = element.dataset.c !== undefined, rect = element.getBoundingClientRect();
    if (own || element.classList.contains("window")) box = cut([rect.left, rect.top, rect.right, rect.bottom], outer);
    if (own && (box[2] - box[0] < 4 || box[3] - box[1] < 4)) return "";
    for (const child of element.children) { const found = walk(child, box, n); inner += found; n += found ? 1 : 0; }
    if (!own) return inner;
    const flags = element.dataset.f.split(" "), at = box.map(value => Math.round(value * scale));
    const scrolls = element.classList.contains("scroll") && element.scrollHeight > element.clientHeight + 1;
    return `<node index="${index}" text="${escapeText(text(element))}" resource-id="${element.dataset.r ? `${pack}:id/${element.dataset.r}` : ""}"` +
      ` class="android.widget.${element.dataset.c}" package="${pack}" content-desc="${escapeText(element.dataset.d)}" enabled="true" ` +
      names.map(name => `${name}="${name === "scrollable" ? scrolls : flags.includes(name)}"`).join(" ") +
      ` bounds="[${at[0]},${at[1]}][${at[2]},${at[3]}]">${inner}</node>`;
  }
  const full = [0, 0, 360, 720], screen = document.getElementById("screen");
  const covered = [...screen.querySelectorAll(".shade")].pop() || [...screen.querySelectorAll(".shadow")].pop();
  const roots = covered ? [covered, ...screen.querySelectorAll(".toast-note")] : [screen];
  return `<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation="0"><node index="0" text="" resource-id=""` +
    ` class="android.widget.FrameLayout" package="${pack}" content-desc="" enabled="true" ${names.map(name => `${name}="false"`).join(" ")}` +
    ` bounds="[0,0][${360 * scale},${720 * scale}]">${roots.map(each => walk(each, full, 0)).join("")}</node></hierarchy>`;
}

// Whatever is done, the screen is drawn, a second passes, and the answer says what there is now.
const told = () => JSON.stringify([dump(SCALE), `sdg.phone.${S.os.front || "launcher"}/.${S.os.front ? page().name : "Home"}`, !!S.os.focus, JSON.stringify(S)]);
const done = (act, seconds = 1) => (...args) => { act(...args); advance(seconds); draw(); return told(); };
const SCALE = 2;
const phone = {
  reset(state) { S = JSON.parse(state); document.getElementById("screen").innerHTML = ""; draw(); return told(); },
  wait: seconds => done(() => {}, seconds)(),
  home: done(() => { hideKeyboard(); S.os.shade = false; S.os.front = ""; }),
  touch: done(touch), type: done(type), enter: done(enter), back: done(back),
};
