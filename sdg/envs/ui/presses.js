// What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon.
// It is the body of a function of x, y, way and typed, behind focus.js.
const tidy = words => (words || '').replace(/\p{Cf}/gu, '').replace(/\s+/g, ' ').trim();
const most = 20000, clean = words => tidy(words).slice(0, most);
const roles = '[role=button], [role=link], [role=menuitem], [role=option], [role=tab]';
const acting = `button, a, input, select, textarea, summary, label, ${roles}, [onclick]`;
const pressed = `${acting}, [tabindex]`;
const buttons = 'button, input[type=submit], input[type=image], input[type=button], [role=button]';
const ends = 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]';
const dialogs = 'dialog, [role=dialog], [role=alertdialog], [aria-modal=true]';
const is = (node, what) => Element.prototype.matches.call(node, what);
const attr = (node, name) => Element.prototype.getAttribute.call(node, name) || '';
const seen = node => Element.prototype.checkVisibility.call(node);
const above = node => get(node, 'assignedSlot') || get(node, 'parentElement') || get(node, 'parentNode')?.host || null;
const up = (node, what) => { while (node && !is(node, what)) node = above(node); return node || null; };
const parts = node => {  // what is drawn in it: of its open shadow root, and in a slot what is put there
  const put = node instanceof HTMLSlotElement ? node.assignedNodes() : [];
  return put.length ? put : get(get(node, 'shadowRoot') || node, 'childNodes');
};
const flat = function* (node) {
  yield node;
  for (const each of parts(node)) if (each instanceof Element) yield* flat(each);
};
const all = (node, what) => [...flat(node)].filter(each => is(each, what));
const words = (node, upto = most) => {  // those that are shown, of styles too, as innerText has them
  let said = '';
  const add = (node, style) => {
    const quoted = said => [...said.matchAll(/url\("[^"]*"\)|"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('');
    const made = part => said += quoted(getComputedStyle(node, part).content);
    const edge = /^(inline|contents|ruby)/.test(style.display) ? '' : /cell/.test(style.display) ? '\t' : '\n';
    said += is(node, 'br') ? '\n' : edge;
    if (style.display.includes('list-item')) said += quoted(style.listStyleType);
    made('::before');
    if (!is(node, 'textarea, iframe, canvas, video, audio, object')) for (const each of parts(node)) {
      if (said.length > upto) return;
      if (each instanceof Element) {
        const own = getComputedStyle(each);
        if (own.display === 'contents' || seen(each)) add(each, own);
      } else if (each instanceof Text && style.visibility === 'visible')
        said += /pre|break/.test(style.whiteSpace) ? each.data : each.data.replace(/\s+/g, ' ');
    }
    made('::after');
    said += edge;
  };
  add(node, getComputedStyle(node));
  return said.trim().slice(0, upto);
};
const text = each => is(each, 'input') ? each.value || {submit: 'Submit', reset: 'Reset'}[each.type] || '' :
  is(each, 'option') ? each.label : words(each);
const writes = node => get(node, 'isContentEditable') || document.designMode === 'on';
const edits = node => is(node, 'input') ?  // keys change its text alone; what a role calls a field may do anything
  !/^(button|submit|reset|image|checkbox|radio|file|color)$/.test(node.type) :
  !is(node, 'button, summary') && (writes(node) || is(node, 'textarea, select'));
const lists = node => is(node, '[role=combobox], [role=listbox]');
const field = node => edits(node) || !is(node, 'input, button, summary') && (lists(node) ||
  is(node, '[role=textbox], [role=searchbox], iframe, canvas, embed, object'));
const keeps = node => edits(node) &&  // a click puts the cursor there; what lies in a text may be a button of its own
  (is(node, 'input') ? !node.readOnly : is(node, 'textarea, select') || !is(node, roles) &&
  (is(node, '[contenteditable]') || !is(node, '[onclick], [tabindex]')));
const painted = node => {  // a link that is drawn as a button, with words on it
  const style = getComputedStyle(node), filled = !/^rgba.*, 0\)$/.test(style.backgroundColor);
  return (filled || style.backgroundImage !== 'none' || parseFloat(style.borderTopWidth) > 0) &&
    /\p{L}/u.test(words(node, 200));
};
const points = node => getComputedStyle(node).cursor === 'pointer';
const taken = node => {  // by what has no words up to where the pointer is a hand, or is made to be pressed
  let box = node;
  for (let at = node; at && points(at); at = above(at)) box = at;
  return is(node, buttons) || !is(node, 'input') && !field(node) && (is(node, acting) || points(node) && !words(box));
};
const line = (node, list) => {  // what is read as one there: the line of a list, however it is set
  for (let at = above(node); at && at !== list && (!tidy(words(node)) || !words(at).includes('\n')); at = above(at))
    node = at;
  return tidy(words(node)) ? node : list;
};
const meant = node => {
  let found = up(node, pressed) || node;
  for (let at = found; at && at !== document.body && points(at); at = above(at)) if (is(at, pressed)) found = at;
  return found !== node && (lists(found) || !is(found, acting)) ? line(node, found) : found;
};
const formOf = node => get(node, 'form') || up(node, 'form');
const seeks = text => text === 'q' || /搜|検索|검색|بحث/.test(text) || text.replace(/([a-z])([A-Z])/g, '$1 $2')
  .split(/[^\p{L}]+/u).some(word => /^(search|suche|query|find(er)?$|filter|recherch|busca|cerca|zoek|szuka|sök|поиск)/i
  .test(word));
const searches = node => [node, formOf(node)].some(each => each && [get(each, 'type'),
  ...['role', 'name', 'id'].map(name => attr(each, name)),
  attr(each, 'action').replace(/^https?:\/\/[^/]*|[?#].*/g, ''),
  ...[...titles(each), attr(each, 'placeholder'), ...[...get(each, 'labels') || []].map(label => label.textContent)]
  .map(said => said.match(/^\P{L}*(\p{L}+\P{L}*){0,3}/u)[0])].some(text => seeks(text || '')));
const near = node => formOf(node) || above(above(node) || node) || node;
const endings = node => {  // the buttons that Enter in a field may press: those that end its form, or those beside it
  const form = formOf(node), search = searches(node);
  const own = form ? [...get(form, 'getRootNode').call(form).querySelectorAll(ends)]
    .filter(each => each.form === form) : [];
  const bare = search || form || writes(node) || is(node, 'textarea');
  return own.length ? (search ? own.slice(0, 1) : own) : bare ? [] : all(near(node), buttons);
};
const short = each => each.maxLength > 0 && each.maxLength <= 8;
const codes = (node, typed) => {  // fields of a few digits alone may send themselves with the last of them
  if (!short(node)) return false;
  const form = node.form, own = form ? [...get(form, 'elements')] : all(near(node), 'input, textarea, select');
  const fields = own.filter(each => field(each) && each.type !== 'hidden');
  return fields.every(short) && (form || typed.length > fields.filter(each => each !== node && !each.value).length);
};
const labelled = node => [...get(node, 'labels') || []].map(each => words(each)).join(' ');
const titles = node => ['aria-label', 'title', 'alt'].map(name => attr(node, name));
const entries = (node, typed) => {  // all that arrows, or any of these letters, may choose, and with their groups
  const first = text => text.trim().normalize('NFKD').toLowerCase()[0];
  if (!node.options) return [...node.getRootNode().querySelectorAll('input[type=radio]')]
    .filter(each => each.name === node.name && each.form === node.form).map(each => [labelled(each), ...titles(each)]
    .find(tidy) || '');
  return [...node.options].filter(each => !typed || [...typed].some(letter => first(letter) === first(each.label)))
    .flatMap(each => [each.label, ...is(each, 'optgroup *') ? [`${each.parentNode.label} ${each.label}`] : []]);
};
const labels = (node, inner) => [...inner.flatMap(titles), ...inner.filter(each => each.tagName === 'title')
  .map(each => each.textContent), ...attr(node, 'aria-labelledby').split(/\s+/)
  .map(id => id && get(node, 'getRootNode').call(node).getElementById?.(id)?.textContent)].map(clean)
  .filter(Boolean).join('\n');
const drawn = node => { const style = getComputedStyle(node);
  return [style.backgroundImage, style.maskImage].map(each => /^url\("/.test(each || '') ? each.slice(5, -2)
    .replace(/^(?!data:).*\//, '') : ''); };
const plain = text => text.startsWith('data:') ? '' : text
  .replace(/^https?:\/\/[^/]*|\.(svg|png|gif|jpe?g|webp)\b/g, ' ')
  .replace(/[\w-]*(hover|focus|active|pressed|ripple)[\w-]*/gi, '');
const told = bare => node => ['aria-label', 'title', 'alt', 'value', 'data-icon', 'href', 'xlink:href']
  .filter(name => !(name === 'value' && field(node)) && !(name === 'href' && !bare && is(node, 'a')))
  .map(name => attr(node, name));
const classes = node => [...['src', 'class', 'id'].map(name => attr(node, name)), ...drawn(node)];
const grown = (node, most) => { let box = node;
  for (let at = above(node); at && words(at, most).length < most; at = above(at)) box = at;
  return box; };
const around = node => {  // the words of the dialog, or of the little around a button and what the page asks
  const own = up(node, dialogs);
  const box = own || grown(node, 300), page = own || grown(node, 3000);
  const others = new Set(all(page, buttons).map(each => tidy(text(each))));
  const heads = new Set(all(page, 'h1, h2, h3, [role=heading]').map(each => tidy(words(each))));
  const lines = (node, most) => words(node, most).split('\n').map(tidy).filter(line => line &&
    !(others.has(line) && !/[?？؟]$/.test(line)));
  const asked = box === page ? [] : lines(page, 3000).filter(line => /[?？؟]/.test(line) || heads.has(line));
  return [...new Set([...lines(box, own ? most : 600), ...asked])].join('\n');
};
const row = node => {  // a sign of the words, pictures and values around it, up to where others like it are
  const name = each => [get(each, 'innerHTML'), attr(each, 'value'), attr(each, 'class'), ...titles(each)].join('\n');
  const kind = get(node, 'getRootNode').call(node).querySelectorAll(CSS.escape(get(node, 'localName')));
  const twins = [...kind].filter(each => !each.contains(node) && !node.contains(each) &&
    get(each, 'childElementCount') === get(node, 'childElementCount') && name(each) === name(node));
  const theirs = new Set(), own = tidy(words(node));
  for (const twin of twins) for (let at = twin; at && !theirs.has(at); at = above(at)) theirs.add(at);
  let box = node, sign = 0;
  for (let at = above(node); at && (tidy(words(box)) === own || twins.length && !theirs.has(at)); at = above(at))
    box = at;
  const held = all(box, 'img, input, select, textarea').map(each => each.currentSrc || each.value);
  for (const letter of [words(box, Infinity), ...held].join('\n'))
    sign = Math.imul(sign, 31) + letter.codePointAt(0) | 0;
  return sign;
};
const covered = node => {  // the words that a button without any lies over
  const place = each => Element.prototype.getBoundingClientRect.call(each), own = place(node);
  const lies = ({left, top, right, bottom}) => left > own.left - 4 && top > own.top - 4 &&
    right < own.right + 4 && bottom < own.bottom + 4;
  let found = node;
  for (let at = above(node); at && !is(at, `body, ${dialogs}`) && lies(place(at)); at = above(at)) found = at;
  return found === node ? '' : clean(words(found));
};
const hosts = node => /-|^(article|aside|blockquote|div|footer|h[1-6]|header|main|nav|p|section|span)$/i
  .test(get(node, 'tagName')) && !get(node, 'shadowRoot') && !writes(node);
const hidden = node => {  // has the focus without being able to, or shows nothing of its own: a closed shadow root
  const shown = tidy(words(node, 120)) || titles(node).some(Boolean);
  const scrolls = get(node, 'scrollHeight') > get(node, 'clientHeight') &&
    /auto|scroll/.test(getComputedStyle(node).overflowY);
  return hosts(node) && !(shown && (is(node, '[tabindex]') || scrolls));
};
  let node = deep(document), more = [];
  const canvas = node && way === 'click' && is(node, 'canvas');
  if (!node) return {};
  if (is(node, 'iframe, frame, object, embed')) return {frame: true};
  if (way === 'copy') return {words: is(node, '[type=password]') ? '' : Number.isInteger(node.selectionStart) ?
    node.value.slice(node.selectionStart, node.selectionEnd) : String(getSelection())};
  const types = field(node), keys = x === null, radio = is(node, 'input[type=radio]'), select = is(node, 'select');
  if (way === 'delete') return {role: 'button', words: edits(node) ? '' : 'Delete', field: types};
  const slides = is(node, 'input[type=range], [role=slider]');
  if (way === 'choose' && !radio && !select && !slides) return {};
  if (way === 'choose' && !slides || keys && select &&
      (way === 'type' && typed.trim() || /enter|break/.test(way) && is(node, ':open'))) {
    const texts = entries(node, way === 'type' ? typed : '').map(clean);
    return {role: radio ? 'checkbox' : 'option', words: texts[0] || '', field: types,
      labels: texts.slice(1).join('\n')};
  }
  if (keys && is(node, 'body, html') && !writes(node)) {  // the page itself hears of the key, and may agree
    const asks = all(node, dialogs).filter(seen).pop() || (words(node, 300).length < 300 ? node : null);
    return {role: 'button', hints: asks ? 'ok' : '', dialog: asks ? around(asks) : '',
      labels: asks ? all(asks, buttons).filter(seen).map(each => clean(text(each))).join('\n') : ''};
  }
  const taps = way === 'space' || way === 'type' && typed.includes(' ') && lists(node);
  if (keys && (way === 'type' && !codes(node, typed) || taps ||
      way === 'break' && (is(node, 'textarea') || writes(node))) && (taps ? edits(node) : types))
    return {role: node.tagName.toLowerCase(), field: true, lines: way === 'break'};
  if (keys && way !== 'type' && (hidden(node) || is(node, 'canvas')))
    return {role: 'host', unseen: true, field: types};
  if (!keys) node = is(node, 'option') ? node : meant(node);
  else if (way !== 'choose') {
    const button = is(node, 'input:is([type=submit], [type=image], [type=button], [type=reset], [type=file])');
    const fills = !taps && (types || is(node, 'input') && !button);
    const marked = get(node, 'getRootNode').call(node).getElementById?.(attr(node, 'aria-activedescendant'));
    const own = fills ? endings(node) : is(node, 'a, button, summary, input') || !marked ? [node] : [];
    const found = [...own, ...marked ? [marked] : []];  // Enter presses what ends its form
    if (!found.length && types && !searches(node)) return way === 'type' && !formOf(node) ?
      {role: 'button', hints: 'ok', dialog: around(node), field: types} :
      {role: 'enter', unseen: true, field: types};
    [node, ...more] = found.length ? found : [node];
  }
  const tag = is(node, 'label') && labelled(node.control || node) || '';
  if (is(node, 'label') && node.control) node = node.control;
  const button = is(node, buttons), fills = keys ? field(node) && !(taps && words(node)) : keeps(node);
  const box = is(node, 'input[type=checkbox], input[type=radio]');
  const control = !fills && !box && !is(node, 'label, summary') && (is(node, pressed) || points(node)) &&
    !(is(node, 'a[href]:not([href="#"], [href^="javascript:"])') && !painted(node));
  const inner = [...flat(node)].slice(0, 40);
  const said = box ? labelled(node) : fills || is(node, 'input') && !button && !edits(node) ? '' : text(node);
  const shown = clean(way === 'drop' && !button ? said.slice(0, 120) : said);  // what lies in a zone isn't its name
  const bare = !/[\p{L}\p{N}]/u.test(shown), entry = is(node, 'option, [role=option]');
  const role = slides ? 'slider' : box ? 'checkbox' : button ? 'button' : entry ? 'option' : control ? 'control' :
    way === 'drop' && !fills ? 'drop' : get(node, 'tagName').toLowerCase();
  const modal = !!up(node, dialogs);
  const asks = slides || (button || control ? modal || shown.length < 60 : is(node, 'a') && shown.length < 25);
  const named = [...fills ? [] : [labels(node, button ? inner : [node]), bare ? covered(node) : ''], clean(tag),
    ...more.flatMap(each => [clean(text(each)), labels(each, [each])])].filter(Boolean).join('\n');
  const names = said => clean(inner.map(each => said(each).map(plain).join(' ')).join(' '));
  return {role, words: shown, field: types, modal, row: row(node),
    unseen: button && said.length >= most || canvas && bare,
    labels: named, hints: names(told(bare)), classes: names(classes), dialog: asks ? around(node) : '',
    picture: !fills && inner.some(each => is(each, 'svg, img, i, canvas, input[type=image]') ||
      !shown && drawn(each).some(Boolean)) ||
      !(shown || named || labelled(node) || labels(node, inner)) && taken(node)};
