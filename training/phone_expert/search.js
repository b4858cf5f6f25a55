"use strict";
// Dijkstra over the phone's own states, without its layout: a press costs 1, a field and its text 2.
// A plan is a list of [kind, words, text]; the caller does the scrolling.
window.searchPlan = (start, goals, values, limit) => {
  const plainly = text => (String(text).normalize("NFKC").toLowerCase().match(/\d+(?:[.,]\d+)*|[\p{L}\p{M}]+/gu) || []).join(" ").replaceAll(",", ".");
  const isObject = value => value !== null && typeof value === "object";
  const alike = (value, wanted) => {
    if (isObject(wanted) && !Array.isArray(wanted))
      return isObject(value) && Object.keys(wanted).every(key => alike(value[key], wanted[key]));
    if (typeof wanted === "string" && typeof value === "string")
      return plainly(wanted) ? plainly(value) === plainly(wanted) : value === wanted;
    return JSON.stringify(value) === JSON.stringify(wanted);
  };
  const itemsOf = view => (view.items || []).filter(Boolean);
  const shownTexts = () => views().slice(-1).flatMap(itemsOf).filter(item => item.type !== "field")
    .map(item => [item.t, item.v, item.s].filter(Boolean).join(" "));
  const contains = (text, words) => ` ${plainly(text)} `.includes(` ${plainly(words)} `);
  const holds = goal => {
    if ("anyOf" in goal) return shownTexts().some(text => goal.anyOf.some(words => contains(text, words)));
    const value = goal.at.split(".").reduce((value, key) => value?.[key], S), list = Array.isArray(value) ? value : [];
    if ("is" in goal) return alike(value, goal.is);
    if ("has" in goal) return list.some(item => alike(item, goal.has));
    if ("lacks" in goal) return !list.some(item => alike(item, goal.lacks));
    return list.length > 0 && list.every(item => alike(item, goal.all));
  };
  const lasting = goals.filter(goal => goal.at && !goal.at.startsWith("os."));
  // Every move from the state S: [cost, description, run]
  const moves = () => {
    if (!S.os.front) return Object.keys(apps).filter(name => goals.some(goal => goal.is === name || goal.app === name)).map(name => [1, ["tap", apps[name].title], () => open(name)]);
    const view = views().pop(), {args, draft} = page(), list = [];
    const add = (cost, description, run) => list.push([cost, description, run]);
    for (const item of itemsOf(view)) {
      if (item.type === "field") {
        for (const text of values) if (draft[item.id] !== text) add(2, ["type", item.label, text], () => { draft[item.id] = text; S.os.focus = item.id; });
        if (item.enter && draft[item.id] && S.os.focus === item.id) add(1, ["enter"], () => { S.os.focus = null; item.enter(); });
      }
      for (const inner of item.items || []) add(1, ["tap", inner.t], inner.do);
      if (item.do) add(1, ["tap", item.t, item.s || item.v], item.do);
      if (item.long) add(1, ["hold", item.t], item.long);
      if (item.sw) add(1, ["switch", item.sw.desc], item.sw.do);
    }
    for (const tab of [...(view.tabs || []), ...(view.ends || [])]) add(1, ["tap", tab.t], tab.do);
    for (const button of [...(view.actions || []), view.fab].filter(Boolean)) add(1, ["tap", button.desc], button.do);
    if (args.until > S.os.now) add(1, ["wait"], () => { S.os.now = args.until; });
    if (stack().length > 1) add(1, ["back"], () => leave());
    return list;
  };
  // A node keeps what can differ: the system's place, and the data of the app that the task is about.
  const app = (goals.find(goal => goal.at === "os.front") || {}).is;
  const stateText = () => JSON.stringify([S.os.front, S.os.stacks, S.os.focus, S.os.now > start.os.now + 1, S[app]]);
  const enterState = text => {
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
  const planOf = node => node.from ? [...planOf(node.from), node.move] : [];
  const original = S, queue = [[]], queued = new Set();
  let visited = 0;
  const push = (cost, node) => {
    const name = node.reached + node.state;
    if (queued.has(name)) return;
    queued.add(name);
    (queue[cost] ??= []).push(node);
  };
  try {
    S = clone(start);
    if (!goals.some(goal => "all" in goal || "is" in goal && !goal.at.startsWith("os.")))
      untouched = lists().map(([key, items]) => [key, items.filter(item => !named(item)).map(item => JSON.stringify(item))]);
    push(0, {state: stateText(), reached: 0});
    for (let cost = 0; cost < queue.length; cost++) {
      for (const node of queue[cost] || []) {
        enterState(node.state);
        let reached = node.reached;
        while (reached < goals.length && holds(goals[reached])) reached++;
        if (reached === goals.length && lasting.every(holds)) return {cost, plan: planOf(node), visited};
        if (++visited > limit) return {cost: 0, plan: [], visited};
        const before = own(), held = goals.map(holds), count = moves().length;
        for (let n = 0; n < count; n++) {
          enterState(node.state);
          const [price, move, run] = moves()[n];
          run();
          // A move that changes the app's data and fulfils no condition is on no shortest path; of "all" each item counts.
          const helps = () => goals.some((goal, i) => "all" in goal || (holds(goal) && !held[i]));
          if (own() !== before && (!helps() || harms())) continue;
          push(cost + price, {state: stateText(), reached, from: node, move});
        }
      }
    }
    return {cost: 0, plan: [], visited};
  } finally { S = original; }
};
