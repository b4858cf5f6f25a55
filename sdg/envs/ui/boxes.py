"""The true elements of a page, read from its DOM: labels to train a parser on and a reference to judge it by.

Nothing that acts may import this (a house test bars it): an agent sees screenshots alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdg.envs.box import Box
from sdg.envs.ui.browser import SCALE, STRIP, Browser
from sdg.envs.ui.commands import SCREEN

_ICON_WORDS = {"star": "star", "trash": "trash", "search": "search", "reply": "reply", "forward": "forward",
    "retweet": "retweet", "like": "heart", "share": "share", "more": "more", "closethick": "close",
    "triangle-w": "left", "triangle-e": "right", "triangle-1-e": "right", "triangle-1-s": "updown",
    "arrowthick-2-n-s": "updown", "collapsable-hitarea": "minus", "expandable-hitarea": "plus",
    "folder": "folder", "file": "file", "gripsmall": "resize", "back": "back", "close-": "back"}  # fmt: skip
"""What icons are called, by words in the page's class names."""


@dataclass(frozen=True, slots=True)
class TrueElement:
    """An element as the DOM has it: its kind (of `sdg.envs.ui.captions.KINDS`), its words, its box [x0, y0, x1, y1] in
    pixels of the screenshot (half open, what is hidden is cut off), whether it is checked or has the focus, a shape's
    form."""

    kind: str
    text: str
    box: tuple[int, int, int, int]
    checked: bool = False
    focused: bool = False
    form: str = ""


_READ = """([strip, side, icons]) => {
  const found = [], area = document.getElementById('area') || document.body;
  const clean = words => (words || '').replace(/\\s+/g, ' ').trim();
  const seen = node => {
    for (let at = node; at && at !== document.documentElement; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display === 'none' || style.visibility === 'hidden' || +style.opacity < 0.05) return false;
    }
    return true;
  };
  const cut = (rect, node) => {
    let box = [rect.left, rect.top, rect.right, rect.bottom];
    for (let at = node; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (at !== node && (style.overflowX !== 'visible' || style.overflowY !== 'visible')) {
        const outer = at.getBoundingClientRect();
        box = [Math.max(box[0], outer.left), Math.max(box[1], outer.top),
               Math.min(box[2], outer.right), Math.min(box[3], outer.bottom)];
      }
    }
    return [Math.max(box[0], 0), Math.max(box[1], strip), Math.min(box[2], side), Math.min(box[3], strip + side)];
  };
  const onTop = (box, node) => {
    const top = document.elementFromPoint((box[0] + box[2]) / 2, (box[1] + box[3]) / 2);
    return !top || top === node || node.contains(top) || top.contains(node) || top.id === 'click-canvas'
      || node.ownerSVGElement && node.ownerSVGElement === top.ownerSVGElement;
  };
  const put = (kind, node, rect, text, more) => {
    const box = cut(rect, node);
    if (box[2] - box[0] < 3 || box[3] - box[1] < 3 || !seen(node) || !onTop(box, node)) return;
    found.push(Object.assign({kind, text: clean(text), box}, more || {}));
  };
  const own = node => [...node.childNodes].some(child => child.nodeType === 3 && clean(child.data));
  const named = node => {
    if (node.dataset.icon !== undefined) return node.dataset.icon;
    const words = node.id + ' ' + (node.getAttribute('class') || '');
    for (const word of Object.keys(icons)) if (words.includes(word)) return icons[word];
    return '';
  };
  const pictured = node => {
    if (node.children.length || own(node) && !/ui-icon/.test(node.getAttribute('class') || '')) return false;
    const inner = getComputedStyle(node, '::before');
    const style = getComputedStyle(node);
    return style.backgroundImage.includes('url') || style.content.includes('url')
      || (inner.content && inner.content !== 'none' && inner.content !== 'normal');
  };
  const roots = [area, ...document.querySelectorAll('.ui-dialog, .ui-datepicker, .ui-menu, .ui-autocomplete')];
  const nodes = new Set();
  for (const root of roots) for (const node of root.querySelectorAll('*')) nodes.add(node);
  const forms = {rect: 'rectangle', circle: 'circle', ellipse: 'circle', polygon: 'triangle', line: 'line'};
  const shapes = new Set(['rect', 'circle', 'ellipse', 'polygon', 'path', 'line', 'polyline']);
  for (const node of nodes) {
    const tag = node.tagName.toLowerCase(), type = (node.getAttribute('type') || '').toLowerCase();
    const rect = node.getBoundingClientRect(), focused = document.activeElement === node;
    const style = getComputedStyle(node);
    if (tag === 'textarea') put('text area', node, rect, node.value, {focused});
    else if (tag === 'select') {
      const option = node.options[node.selectedIndex];
      put('dropdown', node, rect, option ? option.text : '', {focused});
    } else if (tag === 'input') {
      if (type === 'checkbox' || type === 'radio') put(type, node, rect, '', {checked: node.checked, focused});
      else if (['button', 'submit', 'reset'].includes(type)) put('button', node, rect, node.value, {focused});
      else if (type !== 'hidden') put('textbox', node, rect, type === 'password' ? '' : node.value, {focused});
    } else if (tag === 'button' || node.getAttribute('role') === 'button') {
      put('button', node, rect, node.textContent, {focused});
    } else if (node.getAttribute('role') === 'tab' && tag === 'li') put('tab', node, rect, node.textContent);
    else if (tag === 'a' && !node.closest('[role=tab], button') || node.classList.contains('alink'))
      put('link', node, rect, node.textContent);
    else if (tag === 'img' || pictured(node)) put('icon', node, rect, named(node));
    else if (style.cursor === 'pointer' && own(node) && (parseFloat(style.borderTopWidth) > 0
             || style.backgroundImage.includes('gradient')) && rect.height < 45 && tag !== 'li' && tag !== 'td')
      put('button', node, rect, node.textContent);
    else if (node.ownerSVGElement && shapes.has(tag)) put('shape', node, rect, style.fill, {form: forms[tag] || ''});
    else if (node.ownerSVGElement && tag === 'text') put('shape', node, rect, node.textContent, {form: style.fill});
    else if (!node.ownerSVGElement && !node.children.length && clean(node.textContent).length < 2) {
      const filled = style.backgroundColor !== 'rgba(0, 0, 0, 0)' || parseFloat(style.borderTopWidth) > 0;
      const sized = Math.min(rect.width, rect.height) >= 5 && Math.max(rect.width, rect.height) <= 100;
      if (filled && sized && !['td', 'th', 'tr', 'li', 'ul', 'table'].includes(tag))
        put('shape', node, rect, style.backgroundColor);
    }
    for (const child of node.childNodes) {
      if (child.nodeType !== 3 || !clean(child.data) || node.ownerSVGElement) continue;
      if (['script', 'style', 'option', 'select', 'textarea', 'button'].includes(tag)) continue;
      const range = document.createRange(), lines = [];
      const words = [...child.data.matchAll(/\\S+/g)];
      for (const word of words) {
        range.setStart(child, word.index); range.setEnd(child, word.index + word[0].length);
        const rect = range.getBoundingClientRect(), last = lines[lines.length - 1];
        if (last && Math.abs(last.top - rect.top) < 2 && rect.left >= last.right - 1) {
          last.right = Math.max(last.right, rect.right); last.bottom = Math.max(last.bottom, rect.bottom);
          last.text += ' ' + word[0];
        } else lines.push({left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom, text: word[0]});
      }
      for (const line of lines) put('text', node, line, line.text);
    }
  }
  return found;
}"""


def true_elements(browser: Browser) -> Sequence[TrueElement]:
    """The elements of the page that a browser shows, sorted by y, then x."""
    elements = [_element(row) for row in browser.page.evaluate(_READ, [STRIP, SCREEN // SCALE, _ICON_WORDS])]
    return tuple(sorted(set(elements), key=lambda element: (element.box[1], element.box[0], element.kind)))


def _element(row: dict[str, Any]) -> TrueElement:
    x0, y0, x1, y1 = row["box"]
    box = tuple(round(SCALE * value) for value in (x0, y0 - STRIP, x1, y1 - STRIP))
    checked, focused = bool(row.get("checked")), bool(row.get("focused"))
    return TrueElement(row["kind"], row["text"], box, checked, focused, row.get("form", ""))  # type: ignore[arg-type]


def lies_in(inner: Sequence[int], outer: Sequence[int]) -> bool:
    """Whether the middle of a box [x0, y0, x1, y1] is in another."""
    box = Box(*outer)
    x, y = Box(*inner).centre
    return box.left <= x <= box.right and box.top <= y <= box.bottom
