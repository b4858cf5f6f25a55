"""What a press on a page would press: the scripts that look, in a page and in every frame and open shadow root of it.

Playwright enters frames of other origins, too. What lies in a closed shadow root nobody sees: `unseen`.
"""

from typing import Any

DEEPEST = 8
"""Frames within frames that are looked into."""
CLICKS, ENTERS, BREAKS, SPACES, TYPES = "click", "enter", "break", "space", "type"
"""The ways of pressing: at a point, or by Enter, a line break in a text, Space or typing where the focus is."""

_DEEP = r"""
const within = root => x === null ? root.activeElement : root.elementFromPoint(x, y);
const deep = root => {
  let node = within(root);
  for (let inner; node?.shadowRoot && (inner = within(node.shadowRoot)) && inner !== node; node = inner);
  return node;
};"""
_FRAME = f"""([x, y]) => {{ {_DEEP}
  const node = deep(document);
  return node?.matches('iframe, frame') ? node : null; }}"""
_CORNER = """node => { const box = node.getBoundingClientRect();
  return [box.left + node.clientLeft, box.top + node.clientTop]; }"""
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
const ending = node => node.form
  ? [...node.getRootNode().querySelectorAll(ends)].find(each => each.form === node.form)
  : (node.closest('form') || node.parentElement?.parentElement || node).querySelector(buttons);
const titles = node => ['aria-label', 'title', 'alt'].map(name => node.getAttribute(name));
const labels = (node, inner) => [...inner.flatMap(titles), ...inner.filter(each => each.tagName === 'title')
  .map(each => each.textContent), ...(node.getAttribute('aria-labelledby') || '').split(/\s+/)
  .map(id => id && node.getRootNode().getElementById?.(id)?.textContent), ...['::before', '::after']
  .map(part => getComputedStyle(node, part).content).map(text => /^"/.test(text) ? text : '')].map(clean)
  .filter(Boolean).join('\n');
const told = node => ['aria-label', 'title', 'alt', 'value', 'data-icon', 'href', 'src', 'xlink:href', 'class', 'id']
  .filter(name => !(name === 'value' && field(node)) && !(name === 'href' && node.matches('a')))
  .map(name => node.getAttribute(name) || '').concat(drawn(node))
  .map(text => text.startsWith('data:') ? '' : text.replace(/^https?:\/\/[^/]*|\.(svg|png|gif|jpe?g|webp)\b/g, ' '))
  .join(' ');
const drawn = node => { const style = getComputedStyle(node);
  return [style.backgroundImage, style.maskImage].map(each => /^url\("(?!data:)/.test(each || '') ? each.slice(5, -2)
    .replace(/^.*\//, '') : ''); };
const around = node => {  // the words of the dialog, or of the little that surrounds a button, other buttons' left out
  let box = node;
  for (let up = above(node); up && (up.innerText || '').length < 300; up = above(up)) box = up;
  box = node.closest('dialog, [role=dialog], [role=alertdialog], [aria-modal=true]') || box;
  const others = new Set([...box.querySelectorAll(buttons)].map(each => tidy(each.innerText || each.value)));
  return (box.innerText || '').slice(0, 600).split('\n').map(tidy).filter(line => line && !others.has(line)).join('\n');
};
const hosts = node => /-|^(article|aside|blockquote|div|footer|h[1-6]|header|main|nav|p|section|span)$/i
  .test(node.tagName) && !node.shadowRoot && !writes(node);
const hidden = node => {  // has the focus without being able to, or shows nothing of its own: a closed shadow root
  const words = tidy(node.innerText) || titles(node).some(Boolean);
  const scrolls = node.scrollHeight > node.clientHeight && /auto|scroll/.test(getComputedStyle(node).overflowY);
  return hosts(node) && !(words && (node.hasAttribute('tabindex') || scrolls));
};"""
_NAMES = rf"""([x, y, way]) => {{ {_DEEP} {_HELP}
  let node = deep(document);
  if (!node) return {{}};
  const types = field(node), keys = way !== 'click';
  if (keys && (way === 'type' || way === 'space' || way === 'break' && (node.matches('textarea') || writes(node))) &&
      types) return {{role: node.tagName.toLowerCase(), field: true, lines: way === 'break'}};
  if (keys && way !== 'type' && hidden(node)) return {{role: 'host', unseen: true, field: types}};
  if (!keys) node = meant(node);
  else if (way !== 'space' && (types || node.matches('input:not([type=button], [type=reset], [type=file])')))
    node = ending(node) || node;  // Enter in a field presses the button that ends its form
  const button = node.matches(buttons), fills = field(node);
  const control = !fills && !node.matches('label, summary') && (node.matches(pressed) || points(node)) &&
    !node.matches('a[href]:not([href="#"], [href^="javascript:"])');
  const inner = [node, ...node.querySelectorAll('*')].slice(0, 40);
  const shown = node.matches('input') ? (button ? node.value : '') : fills ? '' : node.innerText ?? node.textContent;
  const role = button ? 'button' : control ? 'control' : node.tagName.toLowerCase();
  return {{role, words: clean(shown), field: types, labels: fills ? '' : labels(node, button ? inner : [node]),
    hints: clean(inner.map(told).join(' ')),
    dialog: clean(shown).length < 25 && (button || control) ? around(node) : '',
    picture: inner.some(each => each.matches('svg, img, i, canvas, input[type=image]')) ||
      !clean(shown) && (getComputedStyle(node, '::before').content.length > 2 || drawn(node).some(Boolean))}};
}}"""
"""What lies at a point, or has the focus (x is null): what is pressed there, in words and by the names of its icon."""


def pressed_on(page: Any, point: tuple[float, float] | None, way: str) -> dict[str, Any]:
    """The values of a `Press` there, None for where the focus is; `unseen` in a frame that isn't to be entered."""
    frame, at = page.main_frame, point
    for _ in range(DEEPEST):
        inner = frame.evaluate_handle(_FRAME, list(at or (None, None))).as_element()
        if inner is None:
            return dict(frame.evaluate(_NAMES, [*(at or (None, None)), way]))
        if at is not None:
            left, top = inner.evaluate(_CORNER)
            at = at[0] - left, at[1] - top
        frame = inner.content_frame()
        if frame is None:
            break
    return {"role": "frame", "unseen": True, "field": True}
