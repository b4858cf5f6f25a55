// What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon.
// It is the body of a function of x, y, way and typed, behind focus.js.
const tidy = words => (words || '').replace(/\p{Cf}/gu, '').replace(/\s+/g, ' ').trim();
const most = 20000, clean = words => tidy(words).slice(0, most);
const roles = '[role=button], [role=link], [role=menuitem], [role=option], [role=tab]';
const acting = `button, a, input, select, textarea, summary, label, ${roles}, [onclick]`;
const pressed = `${acting}, [tabindex]`;
const buttons = 'button, input[type=submit], input[type=image], input[type=button], [role=button]';
const ends = 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]';
const frames = 'iframe, frame, object, embed';
const dialogs = 'dialog, [role=dialog], [role=alertdialog], [aria-modal=true]';
const is = (node, what) => Element.prototype.matches.call(node, what);
const attr = (node, name) => Element.prototype.getAttribute.call(node, name) || '';
const seen = node => Element.prototype.checkVisibility.call(node);
const up = (node, what) => { while (node && !is(node, what)) node = above(node); return node || null; };
const parts = node => {  // what is drawn in it: of its open shadow root, and in a slot what is put there
  const put = node instanceof HTMLSlotElement ? node.assignedNodes() : [];
  return put.length ? put : get(get(node, 'shadowRoot') || node, 'childNodes');
};
const flat = function* (node, but = '') {  // all in it, without what lies in those that are left out
  yield node;
  for (const each of parts(node)) if (each instanceof Element && !(but && is(each, but))) yield* flat(each, but);
};
const all = (node, what) => [...flat(node)].filter(each => is(each, what));
const rules = list => [...list].flatMap(rule => rule instanceof CSSCounterStyleRule ? [rule] :
  rule.styleSheet ? sheet(rule.styleSheet) : rules(rule.cssRules || []));
const sheet = each => { try { return rules(each.cssRules); } catch { return []; } };  // of another origin
let numbers = null;
const counted = name => {  // the letters of a style of numbers that is the page's own
  numbers ??= [...document.styleSheets, ...document.adoptedStyleSheets].flatMap(sheet);
  return numbers.filter(rule => rule.name === name).map(rule => [rule.prefix, rule.symbols, rule.additiveSymbols,
    rule.suffix].join(' ').replace(/["\\]/g, '')).join(' ');
};
const quoted = said => [...said.matchAll(/url\("[^"]*"\)|"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('');
const drawnBy = ({content, quotes}) => [quoted(content), /-quote/.test(content) ? quoted(quotes) : '',
  ...[...content.matchAll(/counters?\([^)]*?, *([\w-]+)\)/g)].map(([, name]) => counted(name))].join('');
const words = (node, upto = most, but = '') => {  // those that are shown, of styles too, as innerText has them
  let said = '', count = 0;
  const say = text => { said += text; count += text.trim().length; };
  const add = (node, style) => {
    const made = part => say(drawnBy(getComputedStyle(node, part)));
    const edge = /^(inline|contents|ruby)/.test(style.display) ? '' : /cell/.test(style.display) ? '\t' : '\n';
    said += is(node, 'br') ? '\n' : edge;
    if (style.display.includes('list-item')) {
      made('::marker');
      if (!/^(none|disc|circle|square|decimal)$/.test(style.listStyleType))
        say(quoted(style.listStyleType) || counted(style.listStyleType));
    }
    made('::before');
    if (!is(node, 'textarea, iframe, canvas, video, audio, object')) for (const each of parts(node)) {
      if (count > upto) return;
      if (each instanceof Element) {
        const own = getComputedStyle(each);
        if (!(but && is(each, but)) && (own.display === 'contents' || seen(each))) add(each, own);
      } else if (each instanceof Text && style.visibility === 'visible')
        say(/pre|break/.test(style.whiteSpace) ? each.data : each.data.replace(/\s+/g, ' '));
    }
    made('::after');
    said += edge;
  };
  add(node, getComputedStyle(node));
  return said.trim().slice(0, upto);
};
const text = each => is(each, 'input, textarea') ? each.value || {submit: 'Submit', reset: 'Reset'}[each.type] || '' :
  is(each, 'option') ? each.label : words(each);
const writes = node => get(node, 'isContentEditable') || document.designMode === 'on';
const edits = node => is(node, 'input') ?  // keys change its text alone; what a role calls a field may do anything
  !/^(button|submit|reset|image|checkbox|radio|file|color)$/.test(node.type) :
  !is(node, 'button, summary') && (writes(node) || is(node, 'textarea, select'));
const lists = node => is(node, '[role=combobox], [role=listbox]');
const field = node => edits(node) || !is(node, 'input, button, summary') && (lists(node) ||
  is(node, '[role=textbox], [role=searchbox], iframe, canvas, embed, object'));
const keeps = node => edits(node) &&  // a click puts the cursor there; what lies in a text may be a button of its own
  (is(node, 'input, textarea') ? !node.readOnly : is(node, 'select') || !is(node, roles) &&
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
const clicks = (label, found) => is(label, 'label') && label.control && !edits(label.control) &&
  label.control !== found && !is(found, 'a[href], button, input, select, textarea');
const meant = node => {  // the innermost that is pressed there, and those around it that the hand presses, too
  const found = up(node, pressed) || node, outer = [];
  for (let at = above(found); at && at !== document.body; at = above(at))
    if (is(at, acting) && !lists(at) && (points(at) || is(at, 'button, a[href]') || clicks(at, found)))
      outer.push(at);
  return [found !== node && (lists(found) || !is(found, acting)) ? line(node, found) : found, ...outer];
};
const formOf = node => get(node, 'form') || up(node, 'form');
const seeks = text => text === 'q' || /搜|検索|검색|بحث/.test(text) || text.replace(/([a-z])([A-Z])/g, '$1 $2')
  .split(/[^\p{L}]+/u).some(word => /^(search|suche|query|find(er)?$|filter|recherch|busca|cerca|zoek|szuka|sök|поиск)/i
  .test(word));
const called = node => [...titles(node), attr(node, 'placeholder'), ...[...get(node, 'labels') || []]
  .map(label => label.textContent)];
const marked = node => [node, formOf(node)].some(each => each && [get(each, 'type'),
  ...['role', 'name', 'id'].map(name => attr(each, name)),
  attr(each, 'action').replace(/^https?:\/\/[^/]*|[?#].*/g, '')].some(text => seeks(text || '')));
const searches = node => marked(node) || [node, formOf(node)].some(each => each && called(each)
  .map(said => said.match(/^\P{L}*(\p{L}+\P{L}*){0,3}/u)[0]).some(seeks));
const sends = node => [...called(node), attr(node, 'name'), attr(node, 'id'), is(node, buttons) ? text(node) : '']
  .some(said => RegExp('messag|mensa[jg]|nachricht|bericht|wiadomo|сообщ|повідомл|meddel|melding|viesti|üzenet|mesaj|' +
    'μήνυμα|הודעה|消息|信息|訊息|メッセージ|메시지|رسالة|پیام|संदेश|tin nhắn|ข้อความ|pesan|com+ent|kom+ent|комм?ент|reactie|' +
    '评论|評論|コメント|댓글|تعليق|ความคิดเห็น|bình luận|chat|чат|repl[yi]|respond|antwor|antwoord|répon|respuesta|rispo|' +
    'odpowie|ответ|відпов|svar|vasta|válasz|回复|回覆|返信|답장', 'i').test(said));
const near = node => formOf(node) || above(above(node) || node) || node;
const endings = node => {  // the buttons that Enter in a field may press: those that end its form, or those beside it
  const form = formOf(node), search = searches(node);
  const own = form ? [...get(form, 'getRootNode').call(form).querySelectorAll(ends)]
    .filter(each => each.form === form) : [];
  if (own.length) return search ? own.slice(0, 1) : own;
  return search || form || writes(node) || is(node, 'textarea') ? [] : all(near(node), buttons);
};
const senders = node => {  // what a script may have made to end a search, which has no button that does
  const form = formOf(node), box = form && words(form, 300).length < 300 ? form : above(above(node) || node);
  return form ? all(box || node, `${buttons}, [onclick], a:not([href])`).filter(each => each !== node) : [];
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
const noted = (node, name) => attr(node, name).split(/\s+/)
  .map(id => id && get(node, 'getRootNode').call(node).getElementById?.(id)?.textContent);
const labels = (node, inner) => [...inner.flatMap(titles), ...inner.filter(each => each.tagName === 'title')
  .map(each => each.textContent), ...noted(node, 'aria-labelledby')].map(clean).filter(Boolean).join('\n');
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
const boxOf = node => up(node, dialogs) || grown(node, 300);
const framed = node => all(boxOf(node), frames).filter(each => each !== node && seen(each));
const values = each => is(each, 'select') ? [...each.selectedOptions].map(entry => entry.label) :
  is(each, '[type=password], [type=hidden]') ? [] : each.readOnly || each.disabled ? [each.value] :
  [each.value ? '' : attr(each, 'placeholder')];
const held = node => {  // what is asked around a press without being text there: names, notes, values and pictures
  const box = boxOf(node), form = get(node, 'form');
  const fields = [...all(box, 'input, textarea, select'), ...form ? get(form, 'elements') : []];
  const names = [box, ...all(box, 'img, svg, [role=img]').filter(each => seen(each) && !up(each, acting))]
    .filter(each => each !== node || is(each, dialogs))
    .map(each => labels(each, is(each, 'svg') ? [...flat(each)] : [each]));
  const notes = [node, box].flatMap(each => [attr(each, 'aria-description'), ...noted(each, 'aria-describedby')]);
  const kept = fields.filter(each => each !== node && is(each, 'input, textarea, select') && edits(each) && seen(each));
  return [...new Set([...names, ...notes, ...kept.flatMap(values)].flatMap(said => (said || '').split('\n')).map(tidy))]
    .filter(Boolean).join('\n').slice(0, most);
};
const around = node => {  // the words of the dialog, or of the little around a button and what the page asks
  const own = up(node, dialogs);
  const box = boxOf(node), page = own || grown(node, 3000);
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
  let box = node, last = node, sign = 0;
  const same = () => tidy(words(box, own.length + 1)) === own;
  for (let at = above(node); at && (twins.length ? !theirs.has(at) || same() : same()); at = above(at))
    [last, box] = [box, at];
  const far = !twins.length && words(box, 3000).length >= 3000;  // where it has no like, what is beside it is enough
  const kin = far ? [...parts(box)].filter(each => each === last || tidy(get(each, 'textContent'))) : [box];
  const place = Math.max(kin.indexOf(last), 0), beside = kin.slice(Math.max(place - 1, 0), place + 2);
  const held = beside.flatMap(each => each instanceof Element ? [words(each, far ? 3000 : Infinity),
    ...all(each, 'img, input, select, textarea').map(each => each.currentSrc || each.value)] : [each.data || '']);
  for (const letter of held.join('\n'))
    sign = Math.imul(sign, 31) + letter.codePointAt(0) | 0;
  return sign;
};
const covered = node => {  // the words that lie where it does, over it or under it
  const place = each => Element.prototype.getBoundingClientRect.call(each), own = place(node), said = [];
  const lies = ({left, top, right, bottom}) => left > own.left - 4 && top > own.top - 4 &&
    right < own.right + 4 && bottom < own.bottom + 4;
  const meets = ({left, top, right, bottom}) => left < own.right && top < own.bottom && right > own.left &&
    bottom > own.top;
  const range = document.createRange();
  const look = box => {
    for (const each of parts(box)) if (each instanceof Text && tidy(each.data)) {
      range.selectNodeContents(each);
      if (lies(range.getBoundingClientRect())) said.push(tidy(each.data));
    } else if (each instanceof Element && each !== node && said.join(' ').length < most) {
      const rect = place(each), drawn = rect.width && rect.height;
      if (drawn && lies(rect)) said.push(seen(each) ? words(each) : '');
      else if (!drawn || meets(rect)) look(each);
    }
  };
  const box = up(node, dialogs) || document.body || document.documentElement;
  if (node !== box && own.width && own.height) look(box);
  return clean(said.filter(Boolean).join(' '));
};
const boxAround = nodes => {  // of all that is drawn of them
  const rects = nodes.map(node => Element.prototype.getBoundingClientRect.call(node))
    .filter(({width, height}) => width && height);
  return rects.length ? [Math.min(...rects.map(rect => rect.left)), Math.min(...rects.map(rect => rect.top)),
    Math.max(...rects.map(rect => rect.right)), Math.max(...rects.map(rect => rect.bottom))] : [];
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
  const timeless = said => said.join('\n').split('\n').filter(line => !/\d:\d\d/.test(line)).join('\n').trim();
  const asking = /^(click|drop|enter|break|space)$/.test(way);
  if (way === 'said') return timeless([words(document.documentElement, 3000), held(document.documentElement)]);
  if (way === 'frames') return framed(x === null || is(node, frames) ? node : meant(node)[0]);
  if (is(node, frames)) return asking ? {frame: true, frames: framed(node).length, modal: !!up(node, dialogs),
    dialog: timeless([around(node), held(node)])} : {frame: true};
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
      frames: asks ? framed(asks).length : 0, others: asks ? [{role: 'button', hints: 'ok', dialog: held(asks)}] : [],
      labels: asks ? all(asks, buttons).filter(seen).map(each => clean(text(each))).join('\n') : ''};
  }
  const taps = way === 'space' || way === 'type' && typed.includes(' ') && lists(node);
  if (keys && (way === 'type' && !codes(node, typed) || taps ||
      way === 'break' && (is(node, 'textarea') || writes(node))) && (taps ? edits(node) : types))
    return {role: get(node, 'tagName').toLowerCase(), field: true, lines: way === 'break'};
  if (keys && way !== 'type' && (hidden(node) || is(node, 'canvas')))
    return {role: 'host', unseen: true, field: types};
  let others = [], seeking = '';
  if (!keys) [node, ...others] = is(node, 'option') ? [node] : meant(node);
  else if (way !== 'choose') {
    const button = is(node, 'input:is([type=submit], [type=image], [type=button], [type=reset], [type=file])');
    const fills = !taps && (types || is(node, 'input') && !button), search = fills && searches(node);
    const active = get(node, 'getRootNode').call(node).getElementById?.(attr(node, 'aria-activedescendant'));
    const own = fills ? endings(node) : is(node, 'a, button, summary, input') || !active ? [node] : [];
    const found = [...own, ...active ? [active] : []];  // Enter presses what ends its form
    const heard = fills && way !== 'type' && !search && !formOf(node) && [node, ...own].some(sends);
    if (!found.length && types && !search || heard) return way === 'type' && !formOf(node) ?
      {role: 'button', hints: 'ok', dialog: around(node), field: types} :
      {role: 'enter', unseen: true, field: types};
    if (search) seeking = marked(node) ? '' : called(node).map(clean).filter(Boolean).join('\n');
    [node, ...more] = found.length ? found : search ? [node, ...senders(node)] : [node];
    others = found.length ? more.slice(0, 8) : [];
  }
  // a card lies around what is pressed and has a name of its own: it is judged without the buttons in it
  const card = !keys && is(node, acting) && !!(tidy(text(node)) || titles(node).some(Boolean));
  const pressOf = (node, first, card) => {
    const tag = is(node, 'label') && labelled(node.control || node) || '';
    if (is(node, 'label') && node.control) node = node.control;
    const button = is(node, buttons), fills = keys ? field(node) && !(taps && words(node)) : keeps(node);
    const box = is(node, 'input[type=checkbox], input[type=radio]');
    const control = !fills && !box && !is(node, 'label, summary') && (is(node, pressed) || points(node)) &&
      !(is(node, 'a[href]:not([href="#"], [href^="javascript:"])') && !painted(node));
    const inner = [...flat(node, card ? acting : '')].slice(0, 40);
    const said = box ? labelled(node) : fills || is(node, 'input') && !button && !edits(node) ? '' :
      card ? words(node, most, buttons) : text(node);
    const shown = clean(way === 'drop' && !button ? said.slice(0, 120) : said);  // what lies in a zone isn't its name
    const bare = !/[\p{L}\p{N}]/u.test(shown), entry = is(node, 'option, [role=option]');
    const role = slides ? 'slider' : box ? 'checkbox' : card ? 'card' : button ? 'button' : entry ? 'option' :
      control ? 'control' : way === 'drop' && !fills ? 'drop' : get(node, 'tagName').toLowerCase();
    const modal = !!up(node, dialogs);
    const picture = !card && !fills && inner.some(each => is(each, 'svg, img, i, canvas, input[type=image]') ||
      !shown && drawn(each).some(Boolean));
    const asks = slides || (button || control ? modal || shown.length < 60 :
      (is(node, 'a') || picture && bare) && shown.length < 25);
    const named = [...fills ? [] : [labels(node, button && !card ? inner : [node]),
      bare && first ? covered(node) : ''], clean(tag), ...first ? more.flatMap(each => [clean(text(each)),
      labels(each, [each])]) : []].filter(Boolean).join('\n');
    const names = (said, from = inner) => clean(from.map(each => said(each).map(plain).join(' ')).join(' '));
    const icons = bare || !button && shown.length >= 60 ? [] : [...flat(node, button ? '' : acting)].slice(0, 40)
      .filter(each => each === node ? /\p{Co}/u.test(shown) : !/[\p{L}\p{N}]/u.test(words(each, 20)));
    const press = {role, words: shown, field: types, modal, row: first ? row(node) : 0,
      unseen: button && said.length >= most || canvas && bare,
      labels: named, hints: names(told(bare)), classes: names(classes), dialog: asks ? around(node) : '',
      icons: names(each => [...told(true)(each), ...classes(each)], icons) + names(drawn, bare ? [] : [node]),
      picture: picture || !card && !(shown || named || labelled(node) || labels(node, inner)) && taken(node),
      box: picture && bare ? boxAround(inner) : []};
    const asked = asks ? held(node) : '';
    return asked ? [press, {...press, dialog: asked}] : [press];
  };
  const [press, ...asides] = pressOf(node, true, false);
  return {...press, frames: asking ? framed(node).length : 0, others: [...asides,
    ...others.flatMap(each => pressOf(each, false, card && !is(each, 'button'))),
    ...seeking ? [{role: 'search', labels: seeking}] : []]};
