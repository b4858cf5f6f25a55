"use strict";
// Dijkstra over the phone's own states, without its layout: what a finger would press costs 1, a field and its text 2.
// A plan is a list of [kind, words, text]; screens where something must be scrolled to are left to the caller.
window.searchPlan = (start, goals, values, limit) => {
  const plainly = text => (String(text).normalize("NFKC").toLowerCase().match(/\d+(?:[.,]\d+)*|[\p{L}\p{M}]+/gu) || []).join(" ").replaceAll(",", ".");
  const alike = (found, wanted) => wanted !== null && typeof wanted === "object" && !Array.isArray(wanted)
    ? found !== null && typeof found === "object" && Object.entries(wanted).every(([key, value]) => alike(found[key], value))
    : typeof wanted === "string" && typeof found === "string" ? (plainly(wanted) ? plainly(found) === plainly(wanted) : found === wanted)
      : JSON.stringify(found) === JSON.stringify(wanted);
  const shown = () => views().slice(-1).flatMap(view => (view.items || []).filter(Boolean).flatMap(item => item.type === "field" ? []
    : [[item.t, item.v, item.s].filter(Boolean).join(" ")]));
  const holds = goal => {
    if ("anyOf" in goal) return shown().some(text => goal.anyOf.some(words => ` ${plainly(text)} `.includes(` ${plainly(words)} `)));
    const found = goal.at.split(".").reduce((value, part) => value?.[part], S), list = Array.isArray(found) ? found : [];
    if ("is" in goal) return alike(found, goal.is);
    if ("has" in goal) return list.some(item => alike(item, goal.has));
    if ("lacks" in goal) return !list.some(item => alike(item, goal.lacks));
    return list.length > 0 && list.every(item => alike(item, goal.all));
  };
  const lasting = goals.filter(goal => goal.at && !goal.at.startsWith("os."));
  // Every move from the state S: [cost, description, run]
  const moves = () => {
    if (!S.os.front) return Object.keys(apps).filter(name => goals.some(goal => goal.is === name || goal.app === name)).map(name => [1, ["tap", apps[name].title], () => open(name)]);
    const view = views().pop(), at = page(), found = [];
    for (const item of (view.items || []).filter(Boolean)) {
      if (item.type === "field") {
        for (const text of values) if (at.draft[item.id] !== text) found.push([2, ["type", item.label, text], () => { at.draft[item.id] = text; S.os.focus = item.id; }]);
        if (item.enter && at.draft[item.id] && S.os.focus === item.id) found.push([1, ["enter"], () => { S.os.focus = null; item.enter(); }]);
      }
      const name = [item.t, item.s, item.v].filter(Boolean).join(" | ");
      for (const each of item.items || []) found.push([1, ["tap", each.t], each.do]);
      if (item.do) found.push([1, ["tap", item.t, item.s || item.v], item.do]);
      if (item.long) found.push([1, ["hold", item.t], item.long]);
      if (item.sw) found.push([1, ["switch", item.sw.desc], item.sw.do]);
    }
    for (const each of [...(view.tabs || []), ...(view.ends || [])]) found.push([1, ["tap", each.t], each.do]);
    for (const each of [...(view.actions || []), ...(view.fab ? [view.fab] : [])].filter(Boolean)) found.push([1, ["tap", each.desc], each.do]);
    if (at.args.until > S.os.now) found.push([1, ["wait"], () => { S.os.now = at.args.until; }]);
    if (stack().length > 1) found.push([1, ["back"], () => leave()]);
    return found;
  };
  // A node keeps what can differ: the system's place, and the data of the app that the task is about.
  const app = (goals.find(goal => goal.at === "os.front") || {}).is;
  const part = () => JSON.stringify([S.os.front, S.os.stacks, S.os.focus, S.os.now > start.os.now + 1, S[app]]);
  const enterPart = text => {
    const [front, stacks, focus, late, own] = JSON.parse(text);
    S = {...start, os: {...start.os, front, stacks, focus, notices: [], due: [], toast: null, keyboard: false, now: start.os.now + (late ? 60 : 0)}, [app]: own};
  };
  // Items that the task doesn't name stay as they are.
  const named = item => goals.some(goal => [goal.has, goal.lacks].some(wanted => wanted && (typeof wanted === "string" ? item === wanted
    : ["name", "title", "time", "text"].some(key => key in wanted && alike(item[key], wanted[key])))));
  const lists = () => Object.entries(S[app] || {}).filter(([, value]) => Array.isArray(value));
  let untouched = [];
  const harms = () => untouched.some(([key, items]) => { const now = new Set(S[app][key].map(item => JSON.stringify(item))); return items.some(item => !now.has(item)); });
  const own = () => JSON.stringify(S[app]);
  const planOf = node => node.from ? [...planOf(node.from), node.said] : [];
  const kept = S, queue = [[]], seen = new Set();
  let visited = 0;
  const push = (cost, node) => {
    const name = node.reached + node.part;
    if (seen.has(name)) return;
    seen.add(name);
    (queue[cost] ??= []).push(node);
  };
  try {
    S = clone(start);
    if (!goals.some(goal => "all" in goal || "is" in goal && !goal.at.startsWith("os.")))
      untouched = lists().map(([key, items]) => [key, items.filter(item => !named(item)).map(item => JSON.stringify(item))]);
    push(0, {part: part(), reached: 0});
    for (let cost = 0; cost < queue.length; cost++) {
      for (const each of queue[cost] || []) {
        enterPart(each.part);
        let reached = each.reached;
        while (reached < goals.length && holds(goals[reached])) reached++;
        if (reached === goals.length && lasting.every(holds)) return {cost, plan: planOf(each), visited};
        if (++visited > limit) return {cost: 0, plan: [], visited};
        const before = own(), held = goals.map(holds), count = moves().length;
        for (let n = 0; n < count; n++) {
          enterPart(each.part);
          const [price, said, run] = moves()[n];
          run();
          // What changes the app's data and no condition for the better is on no shortest path; of "all" each item counts.
          if (own() !== before && !goals.some((goal, i) => "all" in goal || (holds(goal) && !held[i]))) continue;
          if (own() !== before && harms()) continue;
          push(cost + price, {part: part(), reached, from: each, said});
        }
      }
    }
    return {cost: 0, plan: [], visited};
  } finally { S = kept; }
};
