"use strict";
// Clock, calendar and notes.

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const daysText = days => days.length === 7 ? "Every day" : days.length ? DAYS.filter(each => days.includes(each)).join(", ") : "Once";
const tabsOf = (p, names) => names.map(t => ({t, on: (p.draft.tab || names[0]) === t, do: () => { p.draft.tab = t; p.scroll = 0; }}));

apps.clock = {title: "Clock", icon: "◷", color: "#4a5d8f", screens: {
  main(s, p) {
    const tab = p.draft.tab || "Alarms", tabs = tabsOf(p, ["Alarms", "World clock", "Timer"]);
    if (tab === "Timer") return {title: "Clock", tabs, items: [{type: "field", id: "minutes", label: "Minutes"},
      {type: "text", t: s.timer.running ? `Running: ${s.timer.minutes} min` : s.timer.minutes ? `Paused: ${s.timer.minutes} min` : "No timer"},
      {type: "button", t: s.timer.running ? "Pause" : "Start", do: () => {
        if (s.timer.running) { s.timer.running = false; return; }
        const minutes = Number(p.draft.minutes || s.timer.minutes);
        if (!Number.isInteger(minutes) || minutes < 1 || minutes > 600) { toast("Minutes: a whole number from 1 to 600"); return; }
        s.timer = {minutes, running: true}; hideKeyboard();
        later(60 * minutes, {what: "notify", app: "clock", title: "Time is up", text: `${minutes} minutes are over`, name: "main", args: {}});
      }},
      s.timer.minutes ? {type: "button", t: "Reset", kind: "quiet", do: () => { s.timer = {minutes: 0, running: false}; p.draft.minutes = ""; }} : null]};
    if (tab === "World clock") return {title: "Clock", tabs, items: s.cities.map(each => ({type: "row", t: each.name, s: `${each.hours >= 0 ? "+" : ""}${each.hours} h from here`,
      v: new Date((S.os.now + 3600 * each.hours) * 1000).toISOString().slice(11, 16), long: () => go("dropCity", {name: each.name})})),
      fab: {desc: "Add city", do: () => go("cities")}};
    return {title: "Clock", tabs, items: [...s.alarms].sort((a, b) => a.time < b.time ? -1 : 1).map(each => ({type: "row", t: each.time,
      s: [each.label, daysText(each.days)].filter(Boolean).join(" · "), do: () => go("alarm", {id: each.id}, clone(each)),
      sw: {on: each.on, res: "alarm_switch", desc: `Alarm ${each.time}`, do: () => { each.on = !each.on; }}})),
      fab: {desc: "Add alarm", do: () => go("alarm", {id: 0}, {time: "", label: "", days: [], sound: "Bright", vibrate: true})}};
  },
  alarm(s, p) {
    const d = p.draft;
    return {title: p.args.id ? "Edit alarm" : "New alarm", items: [{type: "field", id: "time", label: "Time (HH:MM)"}, {type: "field", id: "label", label: "Label"},
      {type: "head", t: "Repeat"}, {type: "chips", items: DAYS.map(t => ({t, on: d.days.includes(t),
        do: () => { d.days = DAYS.filter(each => each === t ? !d.days.includes(t) : d.days.includes(each)); }}))},
      pickRow("Sound", d.sound, "sound"), {type: "row", t: "Vibrate", sw: {on: d.vibrate, res: "vibrate", desc: "Vibrate", do: () => { d.vibrate = !d.vibrate; }}},
      {type: "button", t: "Save", do: () => {
        if (!isTime(d.time)) { toast("Time must look like 07:30"); return; }
        const alarm = {id: p.args.id || nextId(s.alarms), time: fullTime(d.time), label: d.label.trim(), days: d.days, sound: d.sound, vibrate: d.vibrate, on: true};
        s.alarms = [...s.alarms.filter(each => each.id !== alarm.id), alarm];
        leave(); toast("Alarm saved");
      }}, p.args.id ? {type: "button", t: "Delete alarm", kind: "danger", do: () => go("drop", {id: p.args.id})} : null]};
  },
  sound: (s, p) => choices("Sound", ["Bright", "Argon", "Cosmos", "Forest", "Silent"], stack()[stack().length - 2]?.draft.sound, t => { page().draft.sound = t; }),
  drop: (s, p) => confirmed("Delete alarm?", "This can't be undone.", "Delete", () => { s.alarms = s.alarms.filter(each => each.id !== p.args.id); leave(2); }),
  cities: (s, p) => ({title: "Add city", items: [["London", -1], ["Lisbon", -1], ["Cairo", 1], ["Nairobi", 2], ["Delhi", 4.5], ["Hanoi", 6], ["Beijing", 7],
    ["Tokyo", 8], ["Sydney", 10], ["New York", -6], ["Mexico City", -7], ["Vancouver", -9]].filter(each => !s.cities.some(city => city.name === each[0]))
    .map(each => ({type: "row", t: each[0], do: () => { s.cities.push({name: each[0], hours: each[1]}); leave(); }}))}),
  dropCity: (s, p) => confirmed("Remove city?", p.args.name, "Remove", () => { s.cities = s.cities.filter(each => each.name !== p.args.name); leave(); }),
}};

const eventLine = each => [each.allDay ? "All day" : each.time, each.place].filter(Boolean).join(" · ");
apps.calendar = {title: "Calendar", icon: "▦", color: "#2e7d5b", screens: {
  main(s, p) {
    const events = [...s.events].sort((a, b) => (a.date + (a.allDay ? "" : a.time)) < (b.date + (b.allDay ? "" : b.time)) ? -1 : 1), items = [];
    for (const each of events) {
      if (!items.length || items[items.length - 1].day !== each.date) items.push({type: "head", t: `${each.date} ${DAYS[(new Date(each.date).getUTCDay() + 6) % 7]}`});
      items.push({type: "row", day: each.date, t: each.title, s: eventLine(each), do: () => go("event", {id: each.id})});
    }
    return {title: "Calendar", items, actions: [{desc: "Search events", icon: "⌕", do: () => go("find", {}, {find: ""})}],
      fab: {desc: "New event", do: () => go("edit", {id: 0}, {title: "", date: today(), time: "", place: "", allDay: false, remind: "None"})}};
  },
  find: (s, p) => ({title: "Search events", items: [{type: "field", id: "find", label: "Words", enter: () => { p.draft.asked = p.draft.find; }},
    ...(p.draft.asked ? s.events.filter(each => has(each.title, p.draft.asked) || has(each.place, p.draft.asked))
      .map(each => ({type: "row", t: each.title, s: `${each.date} · ${eventLine(each)}`, do: () => go("event", {id: each.id})})) : [])]}),
  event(s, p) {
    const each = byId(s.events, p.args.id);
    return {title: "Event", items: each ? [{type: "row", t: each.title}, {type: "row", t: "Date", v: each.date}, {type: "row", t: "Time", v: each.allDay ? "All day" : each.time},
      {type: "row", t: "Place", v: each.place || "None"}, {type: "row", t: "Reminder", v: each.remind}] : [{type: "text", t: "This event is gone."}],
      actions: each ? [{desc: "Edit event", icon: "✎", do: () => go("edit", {id: each.id}, clone(each))}, {desc: "Delete event", icon: "✕", do: () => go("drop", {id: each.id})}] : []};
  },
  edit(s, p) {
    const d = p.draft;
    return {title: p.args.id ? "Edit event" : "New event", items: [{type: "field", id: "title", label: "Title"}, {type: "field", id: "date", label: "Date (YYYY-MM-DD)"},
      {type: "row", t: "All day", sw: {on: d.allDay, res: "all_day", desc: "All day", do: () => { d.allDay = !d.allDay; }}},
      d.allDay ? null : {type: "field", id: "time", label: "Time (HH:MM)"}, {type: "field", id: "place", label: "Place"}, pickRow("Reminder", d.remind, "remind"),
      {type: "button", t: "Save", do: () => {
        if (!d.title.trim()) { toast("An event needs a title"); return; }
        if (!isDate(d.date) || !(d.allDay || isTime(d.time))) { toast("Check date and time: 2026-03-12, 14:30"); return; }
        const event = {id: p.args.id || nextId(s.events), title: d.title.trim(), date: d.date, time: d.allDay ? "" : fullTime(d.time), place: d.place.trim(), allDay: d.allDay, remind: d.remind};
        s.events = [...s.events.filter(each => each.id !== event.id), event];
        leave(); toast("Event saved");
      }}]};
  },
  remind: (s, p) => choices("Reminder", ["None", "10 minutes before", "1 hour before", "1 day before"], stack()[stack().length - 2]?.draft.remind, t => { page().draft.remind = t; }),
  drop: (s, p) => confirmed("Delete event?", byId(s.events, p.args.id)?.title || "", "Delete", () => { s.events = s.events.filter(each => each.id !== p.args.id); leave(2); }),
}};

const LABELS = ["None", "Work", "Home", "Travel", "Ideas"];
apps.notes = {title: "Notes", icon: "✎", color: "#a06a00", screens: {
  main(s, p) {
    const shown = s.notes.filter(each => !each.archived).sort((a, b) => b.pinned - a.pinned || a.id - b.id);
    return {title: "Notes", items: [...shown.map(each => ({type: "row", t: each.title, s: each.body.split("\n")[0].slice(0, 60), v: [each.pinned ? "pinned" : "", each.label === "None" ? "" : each.label].filter(Boolean).join(", "),
      do: () => go("note", {id: each.id}), long: () => go("menu", {id: each.id})}))],
      actions: [{desc: "Search notes", icon: "⌕", do: () => go("find", {}, {find: ""})}, {desc: "Archive", icon: "▤", do: () => go("archive")}],
      fab: {desc: "New note", do: () => go("edit", {id: 0}, {title: "", body: "", label: "None"})}};
  },
  archive: (s, p) => ({title: "Archive", items: s.notes.filter(each => each.archived).map(each => ({type: "row", t: each.title, s: each.body.slice(0, 60), do: () => go("note", {id: each.id})}))}),
  find: (s, p) => ({title: "Search notes", items: [{type: "field", id: "find", label: "Words", enter: () => { p.draft.asked = p.draft.find; }},
    ...(p.draft.asked ? s.notes.filter(each => has(each.title + " " + each.body, p.draft.asked)).map(each => ({type: "row", t: each.title, s: each.body.slice(0, 60), do: () => go("note", {id: each.id})})) : [])]}),
  note(s, p) {
    const each = byId(s.notes, p.args.id);
    return {title: "Note", items: each ? [{type: "row", t: each.title}, {type: "text", t: each.body}, {type: "row", t: "Label", v: each.label}] : [{type: "text", t: "This note is gone."}],
      actions: each ? [{desc: "Edit note", icon: "✎", do: () => go("edit", {id: each.id}, clone(each))}, {desc: "More", icon: "⋮", do: () => go("menu", {id: each.id})}] : []};
  },
  menu(s, p) {
    const each = byId(s.notes, p.args.id), home = () => { stack().length = 1; };
    return {dialog: true, title: each?.title || "Gone", items: each ? [
      {type: "row", t: each.pinned ? "Unpin" : "Pin", do: () => { each.pinned = !each.pinned; leave(); }}, {type: "row", t: "Label", v: each.label, do: () => go("label", {id: each.id})},
      {type: "row", t: each.archived ? "Restore" : "Archive", do: () => { each.archived = !each.archived; home(); }},
      {type: "row", t: "Delete", do: () => go("drop", {id: each.id})}] : [], ends: [{t: "Cancel", do: () => leave()}]};
  },
  label: (s, p) => choices("Label", LABELS, byId(s.notes, p.args.id)?.label, t => { byId(s.notes, p.args.id).label = t; leave(); }),
  drop: (s, p) => confirmed("Delete note?", byId(s.notes, p.args.id)?.title || "", "Delete", () => { s.notes = s.notes.filter(each => each.id !== p.args.id); stack().length = 1; }),
  edit(s, p) {
    const d = p.draft;
    return {title: p.args.id ? "Edit note" : "New note", items: [{type: "field", id: "title", label: "Title"}, {type: "field", id: "body", label: "Text", multi: true},
      {type: "button", t: "Save", do: () => {
        if (!d.title.trim()) { toast("A note needs a title"); return; }
        const old = byId(s.notes, p.args.id) || {id: nextId(s.notes), label: "None", pinned: false, archived: false};
        s.notes = [...s.notes.filter(each => each.id !== old.id), {...old, title: d.title.trim(), body: d.body}];
        leave(); toast("Note saved");
      }}]};
  },
}};
