"""Behaviour for made-up pages: what is pressed or typed into does something, by chance from a seed."""

from __future__ import annotations

LIVELY = """seed => {
  const area = document.getElementById('area');
  const next = () => (seed = (seed * 48271 + 11) % 2147483647) / 2147483647;
  const chance = share => next() < share, pick = list => list[Math.floor(next() * list.length)];
  for (let i = 0; i < 9; i++) next();
  const texts = [...area.querySelectorAll('*')].filter(node => !node.children.length)
    .map(node => (node.textContent || '').trim()).filter(Boolean);
  const word = () => chance(.3) && texts.length ? pick(texts) : pick(('open done result note saved more about inbox ' +
    'total first last reply title story north lake seven amber').split(' ')) + ' ' + Math.floor(next() * 90);
  const text = most => Array.from({length: 1 + Math.floor(next() * most)}, word).join(' ');
  const make = (tag, words, style) => {
    const node = document.createElement(tag);
    node.textContent = words; node.style.cssText = style || '';
    return node;
  };
  const list = (rows, style) => {
    const node = make('div', '', style);
    for (let i = 0; i < rows; i++) node.append(make('div', text(2), 'padding:2px 4px;cursor:pointer'));
    for (const row of node.children) row.onclick = () => { row.style.background = '#9cf'; };
    return node;
  };
  const entries = () => {
    const node = make('div', '', 'margin:2px'), how = pick(['opens', 'opens', 'marks', 'unfolds']), icon = chance(.4);
    const [line, bold] = [pick(['1px solid #ccc', 'none', '2px solid #99a']), chance(.6) ? 'font-weight:bold' : ''];
    for (let i = 0, n = 2 + Math.floor(next() * 4); i < n; i++) {
      const row = make('div', '', `border-bottom:${line};padding:2px;cursor:pointer`), lines = [text(1), text(2)];
      if (chance(.4)) lines.push(text(2));
      const more = lines.concat([text(9)]);
      lines.forEach((line, n) => row.append(make('div', chance(.3) ? line.slice(0, 14) + '..' : line, n ? '' : bold)));
      row.onclick = () => {
        if (how === 'marks') { row.style.background = fade; return; }
        if (how === 'unfolds') { row.append(make('div', more[more.length - 1])); row.onclick = () => {}; return; }
        another(more[0], more.slice(1));
      };
      if (icon) {
        const star = make('span', pick(['\u2605', 'x', '+', '\u2665']), 'float:right;padding:2px;border:solid 1px');
        star.onclick = event => { event.stopPropagation(); if (how === 'opens') star.style.background = fade;
          else row.remove(); };
        row.prepend(star);
      }
      node.append(row);
    }
    return node;
  };
  const fade = `rgb(${[0, 0, 0].map(() => 90 + Math.floor(next() * 165))})`;
  const mark = pick([node => { node.style.background = fade; }, node => { node.style.fontWeight = 'bold'; },
    node => { node.style.outline = '2px solid ' + fade; }, node => { node.style.color = fade; }]);
  const another = (words, more = []) => {
    const back = area.cloneNode(false);
    if (more.length || chance(.6)) back.append(make('h3', words, 'margin:3px'));
    for (const line of more) back.append(make('div', line, 'padding:1px'));
    back.append(make('div', text(8)), make('button', pick(['back', 'ok', 'next', 'cancel'])));
    if (chance(.5)) back.append(list(3, 'margin:3px'));
    area.replaceWith(back);
  };
  const acts = {
    nothing: () => () => {},
    marks: node => () => mark(node),
    tells: node => { const said = text(4); return () => node.after(make('div', said, 'padding:2px;color:#036')); },
    tellsAtTop: () => { const said = text(4); return () => area.prepend(make('div', said, 'padding:2px;color:#060')); },
    unfolds: node => {
      const more = list(1 + Math.floor(next() * 4), 'margin-left:12px'), open = chance(.3);
      if (open) node.after(more);
      return () => { if (more.isConnected) more.remove(); else node.after(more); };
    },
    pops: node => {
      const at = node.getBoundingClientRect(), more = list(2 + Math.floor(next() * 3), `position:absolute;background:` +
        `#fff;border:1px solid #888;left:${at.left}px;top:${at.bottom - 50}px;z-index:9`);
      return () => area.append(more);
    },
    asks: () => {
      const box = make('div', text(3), 'position:absolute;left:20px;top:40px;width:110px;background:#eee;border:1px ' +
        'solid #555;padding:6px;z-index:9');
      box.append(document.createElement('br'), make('button', 'ok'), make('button', 'cancel'));
      return () => area.append(box);
    },
    goes: node => () => node.remove(),
    takesNext: node => () => { if (node.nextElementSibling) node.nextElementSibling.remove(); },
    leads: node => { const words = node.textContent; return () => another(words); },
    counts: node => { let n = 0; return () => { node.textContent = (node.textContent + ' ').split(' (')[0].trim() +
      ` (${++n})`; }; },
    sorts: node => () => area.prepend(area.lastElementChild),
  };
  const may = {
    button: 'nothing nothing marks tells tells tellsAtTop unfolds pops asks goes takesNext leads leads counts sorts',
    link: 'nothing marks leads leads tells unfolds goes', icon: 'marks marks goes takesNext unfolds pops leads tells',
    shape: 'nothing nothing marks marks goes tellsAtTop', words: 'nothing nothing nothing marks unfolds leads',
  };
  const settings = Object.fromEntries(Object.entries(may).map(([kind, names]) => [kind, pick(names.split(' '))]));
  const wire = (kind, nodes) => {
    for (const node of nodes) node.addEventListener('click',
      acts[chance(.6) ? settings[kind] : pick(may[kind].split(' '))](node));
  };
  for (const row of area.querySelectorAll('ul')) {
    const tabs = [...row.querySelectorAll('[role=tab]')], panes = tabs.map(() => text(6)), pane = make('div', panes[0]);
    const [on, off] = [tabs[0].style.background, tabs[1].style.background];
    if (chance(.85)) row.after(pane);
    tabs.forEach((tab, n) => { tab.style.cursor = 'pointer'; tab.onclick = () => {
      tabs.forEach(other => { other.style.background = other === tab ? on : off; });
      pane.textContent = panes[n];
    }; });
  }
  for (const field of area.querySelectorAll('input:not([type]), input[type=text]')) {
    const hints = list(2 + Math.floor(next() * 3), 'border:1px solid #888;background:#fff'), shows = chance(.25);
    field.oninput = () => { if (shows) field.after(hints); };
  }
  const groups = [...area.querySelectorAll('label')].filter(label => label.querySelector('input'))
    .map(label => label.parentNode);
  for (const group of new Set(groups)) {
    for (const radio of group.querySelectorAll('input[type=radio]')) radio.name = 'one';
    if (chance(.15)) group.addEventListener('change', acts[pick(['tells', 'tellsAtTop'])](area.lastElementChild));
  }
  wire('button', area.querySelectorAll('button, input[type=submit], div[style*=pointer]'));
  wire('link', area.querySelectorAll('a'));
  wire('icon', area.querySelectorAll('span[style*=pointer]'));
  wire('shape', area.querySelectorAll('svg > *'));
  const plain = [...area.children].filter(node => node.tagName === 'DIV' && !node.children.length);
  wire('words', plain.filter(node => !node.onclick && !node.style.cursor));
  if (chance(.35)) { const rows = entries(); if (chance(.5)) area.prepend(rows); else area.append(rows); }
  if (chance(.3)) area.append(list(2 + Math.floor(next() * 4), 'margin:2px'));
  if (chance(.25)) for (let i = 0; i < 3; i++) {
    const head = make('div', text(2), 'background:#ddd;border:1px solid #aaa;padding:2px;cursor:pointer');
    area.append(head);
    head.addEventListener('click', acts.unfolds(head));
  }
  const frame = () => new Promise(done => requestAnimationFrame(done));
  return frame().then(frame).then(() => true);  // what has the focus from the start is scrolled to
}"""
"""Called with a seed on a page of `made_up_page`."""
