"""What a press on a page would press: the scripts that look, in a page and in every frame and open shadow root of it.

They run in worlds of their own, where the page's scripts have patched nothing and see nobody look. Frames of other
origins are entered, too. What lies in a closed shadow root nobody sees: `unseen`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sdg.envs.ui.browser import PageError, page_error

DEEPEST = 8
"""Frames within frames that are looked into."""
CLICKS, DROPS, ENTERS, BREAKS, SPACES, TYPES, CHOOSES = "click", "drop", "enter", "break", "space", "type", "choose"
"""The ways of pressing: at a point, letting go of a drag there, or by Enter, a line break in a text, Space, typing or
an arrow where the focus is."""


@dataclass(frozen=True, slots=True)
class Press:
    """What a command presses: its `role` (button, control, option, checkbox, slider, drop, or a tag), the words on
    it, the names of its icon, whether it shows a picture, whether it takes text; its `labels`, a line each, with all
    else that the command may set off, and the words of the `dialog` around it.

    `unseen`: it lies where nobody can see. `lines`: a line break is text there, in a field of many lines.
    """

    role: str = ""
    words: str = ""
    hints: str = ""
    picture: bool = False
    field: bool = False
    labels: str = ""
    dialog: str = ""
    unseen: bool = False
    lines: bool = False

    def is_still(self, now: Press) -> bool:
        """Whether this is what is pressed now; an icon without words goes by its names."""
        icons = self.words or self.labels or self.hints == now.hints
        return bool(icons) and (self.role, self.words, self.labels, self.dialog, self.unseen) == (
            now.role, now.words, now.labels, now.dialog, now.unseen,
        )  # fmt: skip


_DEEP = r"""
const within = root => x === null ? root.activeElement : root.elementFromPoint(x, y);
const deep = root => {
  let node = within(root);
  for (let inner; node?.shadowRoot && (inner = within(node.shadowRoot)) && inner !== node; node = inner);
  return node;
};"""
_HELP = r"""
const tidy = words => (words || '').replace(/\p{Cf}/gu, '').replace(/\s+/g, ' ').trim();
const clean = words => tidy(words).slice(0, 120);
const pressed = 'button, a, input, select, textarea, summary, label, [role=button], [role=link], [role=menuitem], ' +
  '[role=option], [role=tab], [onclick], [tabindex]';
const buttons = 'button, input[type=submit], input[type=image], input[type=button], [role=button]';
const ends = 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]';
const above = node => node.parentElement || node.getRootNode().host || null;
const writes = node => node.isContentEditable || node.ownerDocument.designMode === 'on';
const field = node => writes(node) || node.matches('textarea, select, [role=textbox], [role=combobox], ' +
  '[role=listbox], [role=searchbox], iframe, canvas, embed, object') ||
  node.matches('input') && !/^(button|submit|reset|image|checkbox|radio|file|color)$/.test(node.type);
const points = node => getComputedStyle(node).cursor === 'pointer';
const meant = node => {
  let found = node;
  while (found && !found.matches(pressed)) found = above(found);
  found = found || node;
  for (let up = found; up && up !== document.body && points(up); up = above(up)) if (up.matches(pressed)) found = up;
  return found;
};
const formOf = node => { let form = node.form;
  for (let up = node; !form && up; up = above(up)) if (up.matches('form')) form = up;
  return form; };
const searches = node => { const form = formOf(node); return [node, form].some(each => each && [each.type,
  ...['role', 'name', 'id', 'placeholder', 'aria-label', 'title', 'action', 'class'].map(name =>
  each.getAttribute(name)), ...[...each.labels || []].map(label => label.textContent)]
  .some(text =>
  /search|suche|query|find|filter|recherch|busca|cerca|zoek|szuka|sök|поиск|搜|検索|검색|بحث|^q$/i
  .test(text || ''))); };
const endings = node => {  // the buttons that Enter in a field may press: those that end its form, or those beside it
  const form = formOf(node), search = searches(node), box = form || above(above(node) || node) || node;
  const own = form ? [...form.getRootNode().querySelectorAll(ends)].filter(each => each.form === form) : [];
  return own.length ? (search ? own.slice(0, 1) : own) : search ? [] : [...box.querySelectorAll(buttons)];
};
const short = each => each.maxLength > 0 && each.maxLength <= 8;
const codes = node => node.form && short(node) &&  // a form of a few digits alone may send itself with the last of them
  [...node.form.elements].filter(each => field(each) && each.type !== 'hidden').every(short);
const chosen = (node, way, typed) => {  // the entries that a key, or a letter, may choose
  const all = [...node.options || node.getRootNode().querySelectorAll('input[type=radio]')]
    .filter(each => !each.disabled && (node.options || each.name === node.name && each.form === node.form));
  const at = node.options ? all.indexOf(node.selectedOptions[0]) : all.indexOf(node);
  const open = node.options && node.matches(':open'), step = /Down|Right/.test(typed) ? 1 : -1;
  const first = text => text.trim().toLowerCase()[0];
  if (way === 'type') return all.filter(each => first(each.text) === first(typed));
  return open ? all : [all[(at + step + all.length) % all.length]];
};
const labelled = node => [...node.labels || []].map(each => each.innerText).join(' ');
const titles = node => ['aria-label', 'title', 'alt'].map(name => node.getAttribute(name));
const labels = (node, inner) => [...inner.flatMap(titles), ...inner.filter(each => each.tagName === 'title')
  .map(each => each.textContent), ...(node.getAttribute('aria-labelledby') || '').split(/\s+/)
  .map(id => id && node.getRootNode().getElementById?.(id)?.textContent), ...['::before', '::after']
  .map(part => getComputedStyle(node, part).content).map(text => /^"/.test(text) ? text : '')].map(clean)
  .filter(Boolean).join('\n');
const told = bare => node => ['aria-label', 'title', 'alt', 'value', 'data-icon', 'href', 'src', 'xlink:href', 'class',
  'id']
  .filter(name => !(name === 'value' && field(node)) && !(name === 'href' && !bare && node.matches('a')))
  .map(name => node.getAttribute(name) || '').concat(drawn(node))
  .map(text => text.startsWith('data:') ? '' : text.replace(/^https?:\/\/[^/]*|\.(svg|png|gif|jpe?g|webp)\b/g, ' ')
    .replace(/[\w-]*(hover|focus|active|pressed|ripple)[\w-]*/gi, ''))
  .join(' ');
const drawn = node => { const style = getComputedStyle(node);
  return [style.backgroundImage, style.maskImage].map(each => /^url\("(?!data:)/.test(each || '') ? each.slice(5, -2)
    .replace(/^.*\//, '') : ''); };
const grown = (node, most) => { let box = node;
  for (let up = above(node); up && (up.innerText || '').length < most; up = above(up)) box = up;
  return box; };
const around = node => {  // the words of the dialog, or of the little around a button and what the page asks
  const own = node.closest('dialog, [role=dialog], [role=alertdialog], [aria-modal=true]');
  const box = own || grown(node, 300), page = own || grown(node, 3000);
  const others = new Set([...page.querySelectorAll(buttons)].map(each => tidy(each.innerText || each.value)));
  const heads = new Set([...page.querySelectorAll('h1, h2, h3, [role=heading]')].map(each => tidy(each.innerText)));
  const lines = (node, most) => (node.innerText || '').slice(0, most).split('\n').map(tidy).filter(line => line &&
    !(others.has(line) && !/[?？؟]$/.test(line)));
  const asked = box === page ? [] : lines(page, 3000).filter(line => /[?？؟]/.test(line) || heads.has(line));
  return [...new Set([...lines(box, own ? 4000 : 600), ...asked])].join('\n');
};
const hosts = node => /-|^(article|aside|blockquote|div|footer|h[1-6]|header|main|nav|p|section|span)$/i
  .test(node.tagName) && !node.shadowRoot && !writes(node);
const hidden = node => {  // has the focus without being able to, or shows nothing of its own: a closed shadow root
  const words = tidy(node.innerText) || titles(node).some(Boolean);
  const scrolls = node.scrollHeight > node.clientHeight && /auto|scroll/.test(getComputedStyle(node).overflowY);
  return hosts(node) && !(words && (node.hasAttribute('tabindex') || scrolls));
};"""
_NAMES = rf"""([x, y, way, typed]) => {{ {_DEEP} {_HELP}
  let node = deep(document), more = [];
  if (!node) return {{}};
  if (node.matches('iframe, frame, object, embed')) {{
    const box = node.getBoundingClientRect();
    return {{frame: true, left: box.left + node.clientLeft, top: box.top + node.clientTop}};
  }}
  const types = field(node), keys = x === null, radio = node.matches('input[type=radio]');
  const active = keys && node.getAttribute('aria-activedescendant');
  if (way === 'choose' && !radio && !node.matches('select')) return {{}};
  if (way === 'choose' || keys && node.matches('select') &&
      (way === 'type' && typed.trim() || way === 'enter' && node.matches(':open'))) {{
    const texts = chosen(node, way, typed).map(each => clean(radio ? labelled(each) : each.text));
    return {{role: radio ? 'checkbox' : 'option', words: texts[0] || '', field: types,
      labels: texts.slice(1).join('\n')}};
  }}
  if (keys && (way === 'type' && !codes(node) || way === 'space' ||
      way === 'break' && (node.matches('textarea') || writes(node))) && types)
    return {{role: node.tagName.toLowerCase(), field: true, lines: way === 'break'}};
  if (keys && way !== 'type' && hidden(node)) return {{role: 'host', unseen: true, field: types}};
  if (!keys) node = node.matches('option') ? node : meant(node);
  else if (active && way !== 'space') node = node.getRootNode().getElementById(active) || node;
  else if (way !== 'space' && (types || node.matches('input:not([type=button], [type=reset], [type=file])'))) {{
    const pressed = endings(node);  // Enter in a field presses the button that ends its form
    if (!pressed.length && types && !searches(node)) return {{role: 'enter', unseen: true, field: types}};
    [node, ...more] = pressed.length ? pressed : [node];
  }}
  const tag = node.matches('label') && labelled(node.control || node) || '';
  if (node.matches('label') && node.control) node = node.control;
  const button = node.matches(buttons), fills = field(node), slides = node.matches('input[type=range], [role=slider]');
  const box = node.matches('input[type=checkbox], input[type=radio]');
  const control = !fills && !box && !node.matches('label, summary') && (node.matches(pressed) || points(node)) &&
    !node.matches('a[href]:not([href="#"], [href^="javascript:"])');
  const inner = [node, ...node.querySelectorAll('*')].slice(0, 40);
  const text = each => each.matches('input') ? each.value : each.innerText ?? each.textContent;
  const shown = clean(box ? labelled(node) : fills || node.matches('input') && !button ? '' : text(node));
  const entry = node.matches('option, [role=option]');
  const role = slides ? 'slider' : box ? 'checkbox' : button ? 'button' : entry ? 'option' : control ? 'control' :
    way === 'drop' && !fills ? 'drop' : node.tagName.toLowerCase();
  const asks = slides || (button || control ? shown.length < 60 : node.matches('a') && shown.length < 25);
  const beside = [clean(tag), ...more.flatMap(each => [clean(text(each)), labels(each, [each])])].filter(Boolean);
  return {{role, words: shown, field: types,
    labels: [...fills ? [] : [labels(node, button ? inner : [node])], ...beside].filter(Boolean).join('\n'),
    hints: clean(inner.map(told(!shown)).join(' ')), dialog: asks ? around(node) : '',
    picture: !fills && inner.some(each => each.matches('svg, img, i, canvas, input[type=image]')) ||
      !shown && (getComputedStyle(node, '::before').content.length > 2 || drawn(node).some(Boolean))}};
}}"""
"""What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon."""
_NODE = f"([x, y]) => {{ {_DEEP} return deep(document); }}"


class Frame:
    """A frame of a page as seen from a world of its own. Raises Playwright's errors, and PageError for a script's."""

    def __init__(self, page: Any, session: Any, name: str = "") -> None:
        self._page, self._session = page, session
        name = name or session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        self._world = session.send("Page.createIsolatedWorld", {"frameId": name, "worldName": "sdg"})

    def ask(self, script: str, *arguments: object, plain: bool = True) -> Any:
        """What a function of JavaScript gives, as plain values, or as a handle where it isn't `plain`."""
        asked = {"functionDeclaration": script, "arguments": [{"value": each} for each in arguments]}
        found = self._session.send("Runtime.callFunctionOn", asked | self._world | {"returnByValue": plain})
        if "exceptionDetails" in found:
            raise PageError(f"it can't be looked at: {str(found['exceptionDetails'])[:200]}")
        return found["result"].get("value") if plain else found["result"].get("objectId")

    def inner(self, at: list[float | None]) -> Frame | None:
        """The frame that lies at a point, or has the focus; one of another process has a session of its own."""
        node = self._session.send("DOM.describeNode", {"objectId": self.ask(_NODE, at, plain=False)})["node"]
        error, name = page_error(), node.get("frameId")
        if name is None:
            return None
        for part in (None, *self._page.frames):
            try:
                return Frame(self._page, self._page.context.new_cdp_session(part) if part else self._session, name)
            except error:
                continue
        return None


def pressed_on(page: Any, session: Any, point: tuple[float, float] | None, way: str, typed: str = "") -> Press:
    """What is pressed there, None for where the focus is; `unseen` in a frame that isn't to be entered. `typed`: the
    text that is typed, or the key."""
    frame, at = Frame(page, session), list[float | None](point or (None, None))
    for _ in range(DEEPEST):
        found = frame.ask(_NAMES, [*at, way, typed])
        inner = frame.inner(at) if found.get("frame") else None
        if inner is None:
            break
        at = [x - found[side] for x, side in zip(at, ("left", "top"), strict=True) if x is not None] or at
        frame = inner
    if found.pop("frame", False):
        return Press("frame", unseen=True, field=True)
    return Press(**found)
