"use strict";
// Contacts, settings and map search.

const GROUPS = ["None", "Family", "Friends", "Work"];
apps.contacts = {title: "Contacts", icon: "☺", color: "#8a4b9a", screens: {
  main(s, p) {
    const shown = s.people.filter(each => has(each.name, p.draft.asked)).sort((a, b) => a.name < b.name ? -1 : 1);
    return {title: "Contacts", items: [{type: "field", id: "find", label: "Search contacts", enter: () => { p.draft.asked = p.draft.find; p.scroll = 0; }},
      ...shown.map(each => ({type: "row", t: each.name, s: each.group === "None" ? "" : each.group, lead: each.starred ? "★" : "☺", do: () => go("person", {id: each.id})}))],
      fab: {desc: "New contact", do: () => go("edit", {id: 0}, {name: "", phone: "", email: "", group: "None"})}};
  },
  person(s, p) {
    const each = byId(s.people, p.args.id);
    return {title: "Contact", items: each ? [{type: "row", t: each.name}, {type: "row", t: "Phone", v: each.phone || "None"}, {type: "row", t: "Email", s: each.email || "None"}, {type: "row", t: "Group", v: each.group},
      {type: "button", t: "Call", kind: "quiet", do: () => { s.calls.push({name: each.name, phone: each.phone}); toast(`Calling ${each.name}`); }}] : [{type: "text", t: "This contact is gone."}],
      actions: each ? [{desc: each.starred ? "Remove star" : "Add star", icon: each.starred ? "★" : "☆", do: () => { each.starred = !each.starred; }},
        {desc: "Edit contact", icon: "✎", do: () => go("edit", {id: each.id}, clone(each))}, {desc: "Delete contact", icon: "✕", do: () => go("drop", {id: each.id})}] : []};
  },
  edit(s, p) {
    const d = p.draft;
    return {title: p.args.id ? "Edit contact" : "New contact", items: [{type: "field", id: "name", label: "Name"}, {type: "field", id: "phone", label: "Phone"}, {type: "field", id: "email", label: "Email"},
      pickRow("Group", d.group, "group"), {type: "button", t: "Save", do: () => {
        if (!d.name.trim()) { toast("A contact needs a name"); return; }
        if (d.phone && !/^\+?[\d ()-]{3,20}$/.test(d.phone)) { toast("A phone number has digits alone"); return; }
        const old = byId(s.people, p.args.id) || {id: nextId(s.people), starred: false};
        s.people = [...s.people.filter(each => each.id !== old.id), {...old, name: d.name.trim(), phone: d.phone.trim(), email: d.email.trim(), group: d.group}];
        leave(); toast("Contact saved");
      }}]};
  },
  group: (s, p) => choices("Group", GROUPS, stack()[stack().length - 2]?.draft.group, t => { page().draft.group = t; }),
  drop: (s, p) => confirmed("Delete contact?", byId(s.people, p.args.id)?.name || "", "Delete", () => { s.people = s.people.filter(each => each.id !== p.args.id); leave(2); }),
}};

const flip = (s, key, t, text) => ({type: "row", t, s: text, sw: {on: s[key], res: key, desc: t, do: () => { s[key] = !s[key]; if (key === "airplane" && s[key]) s.wifi = s.bluetooth = false; }}});
const menu = (t, text, name) => ({type: "row", t, s: text, do: () => go(name)});
const settingPick = (title, key, options) => s => choices(title, options, s[key], t => { s[key] = t; });
apps.settings = {title: "Settings", icon: "⚙", color: "#555f6b", screens: {
  main: s => ({title: "Settings", items: [menu("Network", "Wi-Fi, Bluetooth, airplane mode", "network"), menu("Display", "Brightness, dark theme, text size", "display"),
    menu("Sound", "Volume, ringtone, do not disturb", "sound"), menu("Battery", `${s.battery} %`, "battery"), menu("Apps", `${s.apps.length} apps`, "appList"),
    menu("Language", s.language, "language"), menu("Date and time", "Time zone, 24-hour clock", "time"), menu("Security", "Screen lock", "security"), menu("Storage", `${s.usedGb} GB of ${s.totalGb} GB used`, "storage"),
    menu("About phone", s.model, "about")]}),
  network: s => ({title: "Network", items: [flip(s, "wifi", "Wi-Fi"), s.wifi ? pickRow("Network name", s.ssid, "ssid") : null, flip(s, "bluetooth", "Bluetooth"), flip(s, "airplane", "Airplane mode"), flip(s, "hotspot", "Hotspot")]}),
  ssid: settingPick("Network name", "ssid", ["Home-5G", "Office", "Library"]),
  display: s => ({title: "Display", items: [pickRow("Brightness", s.brightness, "brightness"), flip(s, "dark", "Dark theme"), pickRow("Text size", s.textSize, "textSize"), pickRow("Screen timeout", s.timeout, "timeout"), flip(s, "rotate", "Rotate automatically")]}),
  brightness: settingPick("Brightness", "brightness", ["10 %", "25 %", "50 %", "75 %", "100 %"]),
  textSize: settingPick("Text size", "textSize", ["Small", "Default", "Large", "Largest"]),
  timeout: settingPick("Screen timeout", "timeout", ["15 seconds", "30 seconds", "1 minute", "5 minutes"]),
  sound: s => ({title: "Sound", items: [pickRow("Media volume", s.media, "media"), pickRow("Ring volume", s.ring, "ring"), pickRow("Ringtone", s.ringtone, "ringtone"), flip(s, "dnd", "Do not disturb"), flip(s, "touchSounds", "Touch sounds")]}),
  media: settingPick("Media volume", "media", ["0 %", "25 %", "50 %", "75 %", "100 %"]),
  ring: settingPick("Ring volume", "ring", ["0 %", "25 %", "50 %", "75 %", "100 %"]),
  ringtone: settingPick("Ringtone", "ringtone", ["Classic", "Harp", "Marimba", "Waves"]),
  battery: s => ({title: "Battery", items: [{type: "row", t: "Charge", v: `${s.battery} %`}, {type: "row", t: "Last full charge", v: s.charged}, flip(s, "saver", "Battery saver"), flip(s, "percentage", "Show percentage")]}),
  appList: s => ({title: "Apps", items: s.apps.map(each => ({type: "row", t: each.name, s: `${each.mb} MB`, do: () => go("app", {name: each.name})}))}),
  app(s, p) {
    const each = s.apps.find(other => other.name === p.args.name);
    return {title: each.name, items: [{type: "row", t: "Storage", v: `${each.mb} MB`}, {type: "row", t: "Version", v: each.version},
      {type: "row", t: "Notifications", sw: {on: each.notices, res: "app_notifications", desc: "Notifications", do: () => { each.notices = !each.notices; }}},
      {type: "button", t: "Clear data", kind: "danger", do: () => go("clear", {name: each.name})}]};
  },
  clear: (s, p) => confirmed("Clear data?", `All data of ${p.args.name} are deleted.`, "Delete", () => { s.apps.find(other => other.name === p.args.name).mb = 0; leave(); }),
  language: settingPick("Language", "language", ["English", "Deutsch", "Español", "Français", "Tiếng Việt", "日本語", "中文"]),
  time: s => ({title: "Date and time", items: [flip(s, "clock24", "24-hour clock"), pickRow("Time zone", s.zone, "zone")]}),
  zone: settingPick("Time zone", "zone", ["London", "Paris", "Hanoi", "Tokyo", "New York"]),
  security: s => ({title: "Security", items: [{type: "row", t: "Screen lock", v: s.pin ? "PIN" : "None"}, menu("Change PIN", "", "pin"), flip(s, "findPhone", "Find my phone")]}),
  pin: (s, p) => ({title: "Change PIN", items: [{type: "field", id: "pin", label: "New PIN (4 to 8 digits)", password: true}, {type: "button", t: "Save", do: () => {
    if (!/^\d{4,8}$/.test(p.draft.pin || "")) { toast("A PIN has 4 to 8 digits"); return; }
    s.pin = p.draft.pin; leave(); toast("PIN changed");
  }}]}),
  storage: s => ({title: "Storage", items: [{type: "row", t: "Used", v: `${s.usedGb} GB`}, {type: "row", t: "Free", v: `${s.totalGb - s.usedGb} GB`}, {type: "row", t: "Total", v: `${s.totalGb} GB`}]}),
  about: s => ({title: "About phone", items: [{type: "row", t: "Model", v: s.model}, {type: "row", t: "System version", v: s.version}, {type: "row", t: "Serial number", v: s.serial}, {type: "row", t: "Device name", v: s.deviceName, do: () => go("deviceName", {}, {deviceName: s.deviceName})}]}),
  deviceName: (s, p) => ({title: "Device name", items: [{type: "field", id: "deviceName", label: "Device name"}, {type: "button", t: "Save", do: () => {
    if (!p.draft.deviceName.trim()) { toast("A name can't be empty"); return; }
    s.deviceName = p.draft.deviceName.trim(); leave();
  }}]}),
}};

const LOAD_SECONDS = 2;  // what the map asks of its server takes as long
apps.maps = {title: "Maps", icon: "➤", color: "#1f7a8c", screens: {
  main: (s, p) => ({title: "Maps", items: [{type: "field", id: "find", label: "Search places", enter: () => { if (p.draft.find) go("results", {asked: p.draft.find, until: S.os.now + LOAD_SECONDS}); }},
    {type: "chips", items: ["Cafe", "Hotel", "Museum", "Pharmacy", "Park"].map(t => ({t, on: false, do: () => go("results", {asked: t, until: S.os.now + LOAD_SECONDS})}))},
    {type: "head", t: "Saved places"}, ...(s.saved.length ? s.saved.map(name => ({type: "row", t: name, lead: "★", do: () => go("place", {name})})) : [{type: "text", t: "Nothing is saved yet."}]),
    {type: "head", t: "Recent searches"}, ...s.recent.map(t => ({type: "row", t, do: () => go("results", {asked: t, until: S.os.now + LOAD_SECONDS})})),
    s.recent.length ? {type: "button", t: "Clear recent searches", kind: "quiet", do: () => { s.recent = []; }} : null]}),
  results(s, p) {
    if (S.os.now < p.args.until) return {title: p.args.asked, items: [{type: "text", t: "Loading…"}]};
    const found = s.places.filter(each => has(each.name + " " + each.kind, p.args.asked)), order = p.draft.order || "Nearest";
    found.sort(order === "Nearest" ? (a, b) => a.km - b.km : (a, b) => b.stars - a.stars);
    return {title: p.args.asked, items: [{type: "chips", items: ["Nearest", "Best rated"].map(t => ({t, on: order === t, do: () => { p.draft.order = t; }}))},
      ...(found.length ? found.map(each => ({type: "row", t: each.name, s: `${each.kind} · ${each.stars} stars · ${each.km} km`, do: () => go("place", {name: each.name})})) : [{type: "text", t: "No places found."}])]};
  },
  place(s, p) {
    const each = s.places.find(other => other.name === p.args.name), saved = s.saved.includes(each.name);
    return {title: "Place", items: [{type: "row", t: each.name}, {type: "row", t: "Kind", v: each.kind}, {type: "row", t: "Rating", v: `${each.stars} stars`}, {type: "row", t: "Address", s: each.address}, {type: "row", t: "Opening hours", s: each.hours}, {type: "row", t: "Phone", s: each.phone},
      {type: "button", t: saved ? "Remove from saved" : "Save place", kind: "quiet", do: () => { s.saved = saved ? s.saved.filter(name => name !== each.name) : [...s.saved, each.name]; }},
      {type: "button", t: "Directions", do: () => go("way", {name: each.name})}]};
  },
  way(s, p) {
    const each = s.places.find(other => other.name === p.args.name), by = p.draft.by || s.by, speed = {Car: 30, Walk: 5, Bus: 18};
    return {title: "Directions", items: [{type: "row", t: each.name}, {type: "chips", items: Object.keys(speed).map(t => ({t, on: by === t, do: () => { p.draft.by = t; }}))},
      {type: "row", t: "Distance", v: `${each.km} km`}, {type: "row", t: "Time", v: `${Math.max(1, Math.round(60 * each.km / speed[by]))} min`},
      {type: "button", t: "Start", do: () => { s.going = {to: each.name, by}; s.by = by; toast(`On the way to ${each.name}`); }}]};
  },
}};
