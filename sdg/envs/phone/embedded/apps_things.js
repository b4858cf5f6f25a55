"use strict";
// Files, music and expenses.

const inFolder = (s, at) => s.items.filter(each => each.in === at).sort((a, b) => (b.kind === "folder") - (a.kind === "folder") || (a.name < b.name ? -1 : 1));
const folders = s => ["/", ...s.items.filter(each => each.kind === "folder").map(each => (each.in === "/" ? "/" : each.in + "/") + each.name)];
const pathOf = each => (each.in === "/" ? "/" : each.in + "/") + each.name;
apps.files = {title: "Files", icon: "▣", color: "#b06a2c", screens: {
  main: (s, p) => apps.files.screens.folder(s, {...p, args: {at: "/"}}),
  folder(s, p) {
    const at = p.args.at;
    return {title: at === "/" ? "Files" : at.split("/").pop(), items: inFolder(s, at).map(each => ({type: "row", t: each.name, s: each.kind === "folder" ? `${inFolder(s, pathOf(each)).length} items` : `${each.kb} kB · ${each.date}`,
      lead: each.kind === "folder" ? "▣" : "▯", do: () => each.kind === "folder" ? go("folder", {at: pathOf(each)}) : go("file", {id: each.id}), long: () => go("menu", {id: each.id})})),
      actions: [{desc: "Search files", icon: "⌕", do: () => go("find", {}, {find: ""})}], fab: {desc: "New folder", do: () => go("name", {id: 0, at}, {name: ""})}};
  },
  find: (s, p) => ({title: "Search files", items: [{type: "field", id: "find", label: "Name", enter: () => { p.draft.asked = p.draft.find; }},
    ...(p.draft.asked ? s.items.filter(each => has(each.name, p.draft.asked)).map(each => ({type: "row", t: each.name, s: `in ${each.in}`,
      do: () => each.kind === "folder" ? go("folder", {at: pathOf(each)}) : go("file", {id: each.id}), long: () => go("menu", {id: each.id})})) : [])]}),
  file(s, p) {
    const each = byId(s.items, p.args.id);
    return {title: "File", items: each ? [{type: "row", t: each.name}, {type: "row", t: "Folder", v: each.in}, {type: "row", t: "Size", v: `${each.kb} kB`}, {type: "row", t: "Changed", v: each.date}, {type: "text", t: each.text || ""}] : [{type: "text", t: "This file is gone."}],
      actions: each ? [{desc: "More", icon: "⋮", do: () => go("menu", {id: each.id})}] : []};
  },
  menu(s, p) {
    const each = byId(s.items, p.args.id);
    return {dialog: true, title: each?.name || "Gone", items: each ? [{type: "row", t: "Rename", do: () => { leave(); go("name", {id: each.id}, {name: each.name}); }},
      {type: "row", t: "Move", do: () => { leave(); go("move", {id: each.id}); }}, {type: "row", t: "Copy", do: () => { leave(); go("copy", {id: each.id}); }},
      {type: "row", t: "Delete", do: () => go("drop", {id: each.id})}] : [], ends: [{t: "Cancel", do: () => leave()}]};
  },
  name: (s, p) => ({dialog: true, title: p.args.id ? "Rename" : "New folder", items: [{type: "field", id: "name", label: "Name"}], ends: [{t: "Cancel", do: () => leave()}, {t: p.args.id ? "Rename" : "Create", do: () => {
    const name = p.draft.name.trim(), old = byId(s.items, p.args.id);
    if (!name || name.includes("/")) { toast("A name can't be empty or hold a slash"); return; }
    if (inFolder(s, old ? old.in : p.args.at).some(each => each.name === name && each !== old)) { toast("There is something with this name"); return; }
    if (!old) s.items.push({id: nextId(s.items), kind: "folder", name, in: p.args.at, kb: 0, date: today()});
    else { const before = pathOf(old); old.name = name; for (const each of s.items) if (old.kind === "folder" && (each.in + "/").startsWith(before + "/")) each.in = pathOf(old) + each.in.slice(before.length); }
    leave();
  }}]}),
  move: (s, p) => ({dialog: true, title: "Move to", items: folders(s).map(t => ({type: "row", t, do: () => { byId(s.items, p.args.id).in = t; leave(); toast("Moved"); }})), ends: [{t: "Cancel", do: () => leave()}]}),
  copy: (s, p) => ({dialog: true, title: "Copy to", items: folders(s).map(t => ({type: "row", t, do: () => { s.items.push({...byId(s.items, p.args.id), id: nextId(s.items), in: t}); leave(); toast("Copied"); }})), ends: [{t: "Cancel", do: () => leave()}]}),
  drop: (s, p) => confirmed("Delete?", `${byId(s.items, p.args.id)?.name || ""} is deleted for good.`, "Delete", () => {
    const each = byId(s.items, p.args.id);
    s.items = s.items.filter(other => other !== each && !(each.kind === "folder" && (other.in + "/").startsWith(pathOf(each) + "/")));
    leave(2); if (page().name === "file") leave();
  }),
}};

apps.music = {title: "Music", icon: "♪", color: "#a33b5c", screens: {
  main(s, p) {
    const tab = p.draft.tab || "Songs", tabs = tabsOf(p, ["Songs", "Playlists", "Playing"]);
    if (tab === "Playlists") return {title: "Music", tabs, items: s.playlists.map(each => ({type: "row", t: each.name, s: `${each.songs.length} songs`, do: () => go("list", {name: each.name}), long: () => go("dropList", {name: each.name})})),
      fab: {desc: "New playlist", do: () => go("newList", {}, {name: ""})}};
    if (tab === "Playing") { const now = byId(s.songs, s.playing.id); return {title: "Music", tabs, items: [{type: "row", t: now ? now.title : "Nothing is playing", s: now ? now.artist : ""},
      now ? {type: "button", t: s.playing.on ? "Pause" : "Play", do: () => { s.playing.on = !s.playing.on; }} : null, now ? {type: "button", t: "Next song", kind: "quiet", do: () => { s.playing.id = s.songs[(s.songs.indexOf(now) + 1) % s.songs.length].id; }} : null,
      {type: "row", t: "Shuffle", sw: {on: s.shuffle, res: "shuffle", desc: "Shuffle", do: () => { s.shuffle = !s.shuffle; }}}, pickRow("Repeat", s.repeat, "repeat"), pickRow("Sleep timer", s.sleep, "sleep")]}; }
    const order = s.order, shown = [...s.songs].filter(each => has(each.title + " " + each.artist, p.draft.asked)).sort((a, b) => a[order] < b[order] ? -1 : a[order] > b[order] ? 1 : a.id - b.id);
    return {title: "Music", tabs, items: [{type: "field", id: "find", label: "Search songs", enter: () => { p.draft.asked = p.draft.find; p.scroll = 0; }},
      ...shown.map(each => ({type: "row", t: each.title, s: `${each.artist} · ${Math.floor(each.seconds / 60)}:${two(each.seconds % 60)}`, v: each.loved ? "♥" : "", do: () => { s.playing = {id: each.id, on: true}; p.draft.tab = "Playing"; hideKeyboard(); }, long: () => go("song", {id: each.id})}))],
      actions: [{desc: "Sort songs", icon: "⇅", do: () => go("order")}]};
  },
  song(s, p) {
    const each = byId(s.songs, p.args.id);
    return {dialog: true, title: each.title, items: [{type: "row", t: each.loved ? "Remove from favourites" : "Add to favourites", do: () => { each.loved = !each.loved; leave(); }},
      {type: "row", t: "Add to playlist", do: () => { leave(); go("addTo", {id: each.id}); }}, {type: "row", t: "Details", do: () => { leave(); go("details", {id: each.id}); }}], ends: [{t: "Cancel", do: () => leave()}]};
  },
  details(s, p) { const each = byId(s.songs, p.args.id); return {title: "Details", items: [{type: "row", t: "Title", v: each.title}, {type: "row", t: "Artist", v: each.artist}, {type: "row", t: "Album", v: each.album}, {type: "row", t: "Year", v: String(each.year)}, {type: "row", t: "Length", v: `${Math.floor(each.seconds / 60)}:${two(each.seconds % 60)}`}]}; },
  addTo: (s, p) => ({dialog: true, title: "Add to playlist", items: s.playlists.map(each => ({type: "row", t: each.name, do: () => { if (!each.songs.includes(p.args.id)) each.songs.push(p.args.id); leave(); toast(`Added to ${each.name}`); }})), ends: [{t: "Cancel", do: () => leave()}]}),
  newList: (s, p) => ({dialog: true, title: "New playlist", items: [{type: "field", id: "name", label: "Name"}], ends: [{t: "Cancel", do: () => leave()}, {t: "Create", do: () => {
    const name = p.draft.name.trim();
    if (!name || s.playlists.some(each => each.name === name)) { toast("A new name is needed"); return; }
    s.playlists.push({name, songs: []}); leave();
  }}]}),
  list(s, p) {
    const each = s.playlists.find(other => other.name === p.args.name);
    return {title: p.args.name, items: each.songs.length ? each.songs.map(id => ({type: "row", t: byId(s.songs, id).title, s: byId(s.songs, id).artist, do: () => { s.playing = {id, on: true}; }, long: () => go("dropSong", {name: each.name, id})})) : [{type: "text", t: "No songs yet."}]};
  },
  dropSong: (s, p) => confirmed("Remove from playlist?", byId(s.songs, p.args.id).title, "Remove", () => { const each = s.playlists.find(other => other.name === p.args.name); each.songs = each.songs.filter(id => id !== p.args.id); leave(); }),
  dropList: (s, p) => confirmed("Delete playlist?", p.args.name, "Delete", () => { s.playlists = s.playlists.filter(each => each.name !== p.args.name); leave(); }),
  repeat: settingPick("Repeat", "repeat", ["Off", "One song", "All songs"]),
  sleep: settingPick("Sleep timer", "sleep", ["Off", "15 minutes", "30 minutes", "1 hour"]),
  order: s => choices("Sort songs", ["title", "artist", "year"], s.order, t => { s.order = t; }),
}};

const CATEGORIES = ["Food", "Travel", "Rent", "Fun", "Health", "Salary", "Other"];
apps.expenses = {title: "Expenses", icon: "€", color: "#3f6d3a", screens: {
  main(s, p) {
    const tab = p.draft.tab || "Entries", tabs = tabsOf(p, ["Entries", "Summary", "Budgets"]);
    if (tab === "Summary") {
      const month = today().slice(0, 7), now = s.entries.filter(each => each.date.startsWith(month)), sum = list => list.reduce((total, each) => total + each.cents, 0);
      return {title: "Expenses", tabs, items: [{type: "head", t: `This month (${month})`}, {type: "row", t: "Income", v: money(sum(now.filter(each => each.income)))}, {type: "row", t: "Spent", v: money(sum(now.filter(each => !each.income)))}, {type: "head", t: "By category"},
        ...CATEGORIES.map(t => ({type: "row", t, v: money(sum(now.filter(each => !each.income && each.category === t)))}))]};
    }
    if (tab === "Budgets") return {title: "Expenses", tabs, items: CATEGORIES.slice(0, 5).map(t => ({type: "row", t, v: s.budgets[t] ? money(s.budgets[t]) : "None", do: () => go("budget", {name: t}, {budget: s.budgets[t] ? money(s.budgets[t]) : ""})}))};
    return {title: "Expenses", tabs, items: [...s.entries].sort((a, b) => a.date > b.date ? -1 : a.date < b.date ? 1 : b.id - a.id).map(each => ({type: "row", t: each.title, s: `${each.date} · ${each.category}`, v: (each.income ? "+" : "−") + money(each.cents), do: () => go("entry", {id: each.id})})),
      fab: {desc: "New entry", do: () => go("edit", {id: 0}, {title: "", amount: "", date: today(), category: "Other", income: false})}};
  },
  entry(s, p) {
    const each = byId(s.entries, p.args.id);
    return {title: "Entry", items: each ? [{type: "row", t: each.title}, {type: "row", t: "Amount", v: (each.income ? "+" : "−") + money(each.cents)}, {type: "row", t: "Category", v: each.category}, {type: "row", t: "Date", v: each.date}] : [{type: "text", t: "This entry is gone."}],
      actions: each ? [{desc: "Edit entry", icon: "✎", do: () => go("edit", {id: each.id}, {...clone(each), amount: money(each.cents)})}, {desc: "Delete entry", icon: "✕", do: () => go("drop", {id: each.id})}] : []};
  },
  edit(s, p) {
    const d = p.draft;
    return {title: p.args.id ? "Edit entry" : "New entry", items: [{type: "chips", items: ["Expense", "Income"].map(t => ({t, on: d.income === (t === "Income"), do: () => { d.income = t === "Income"; }}))},
      {type: "field", id: "amount", label: "Amount"}, {type: "field", id: "title", label: "Title"}, {type: "field", id: "date", label: "Date (YYYY-MM-DD)"}, pickRow("Category", d.category, "category"),
      {type: "button", t: "Save", do: () => {
        if (!/^\d{1,7}([.,]\d{1,2})?$/.test(d.amount)) { toast("Amount must look like 12.50"); return; }
        if (!d.title.trim() || !isDate(d.date)) { toast("Title and date are needed"); return; }
        const entry = {id: p.args.id || nextId(s.entries), title: d.title.trim(), cents: Math.round(100 * Number(d.amount.replace(",", "."))), date: d.date, category: d.category, income: d.income};
        s.entries = [...s.entries.filter(each => each.id !== entry.id), entry];
        leave(); toast("Entry saved");
      }}]};
  },
  category: (s, p) => choices("Category", CATEGORIES, stack()[stack().length - 2]?.draft.category, t => { page().draft.category = t; }),
  budget: (s, p) => ({dialog: true, title: `Budget for ${p.args.name}`, items: [{type: "field", id: "budget", label: "Amount a month"}], ends: [{t: "Cancel", do: () => leave()}, {t: "Save", do: () => {
    if (!/^\d{1,7}([.,]\d{1,2})?$/.test(p.draft.budget)) { toast("Amount must look like 12.50"); return; }
    s.budgets[p.args.name] = Math.round(100 * Number(p.draft.budget.replace(",", "."))); leave();
  }}]}),
  drop: (s, p) => confirmed("Delete entry?", byId(s.entries, p.args.id)?.title || "", "Delete", () => { s.entries = s.entries.filter(each => each.id !== p.args.id); leave(2); }),
}};
