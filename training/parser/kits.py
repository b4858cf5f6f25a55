"""Pages made up of published UI kits' own components: what real sites are made of.

    styles = fetch(Path("build/kits"))      # the kits' stylesheets and icon fonts, from npm
    html = kit_page(7, styles)

Of each kit only its own stylesheet is used, with markup as its documentation asks for. `HELD_OUT` are never trained on:
`tests.shared.parser_accuracy.rows(kits=DIR)` measures on them.
"""

from __future__ import annotations

import base64
import random
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.parser.pages import text

KITS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bootstrap@5.3.9": ("dist/css/bootstrap.min.css", {
        "button": "<button class='btn btn-{tone} {size}'>{t}</button>", "field": "<input class=form-control {v}>",
        "area": "<textarea class=form-control rows=2>{t}</textarea>",
        "select": "<select class=form-select><option>{t}<option>{u}</select>",
        "tick": "<div class=form-check><input class=form-check-input type={kind} {on}><label>{t}</label></div>",
        "tabs": "<ul class='nav nav-tabs'><li role=tab class='nav-item nav-link active'>{t}<li role=tab "
                "class='nav-item nav-link'>{u}</ul>",
        "table": "<table class='table table-striped'><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}<tr><td>{t}<td>{u}</table>",
        "card": "<div class='card card-body'><h5>{t}</h5><p>{u} {t}<a href=# class=card-link>{u}</a></div>",
    }),
    "uikit@3.25.29": ("dist/css/uikit.min.css", {
        "button": "<button class='uk-button uk-button-{tone} {size}'>{t}</button>",
        "field": "<input class=uk-input {v}>",
        "area": "<textarea class=uk-textarea rows=2>{t}</textarea>",
        "select": "<select class=uk-select><option>{t}<option>{u}</select>",
        "tick": "<div><label><input class=uk-{kind} type={kind} {on}> {t}</label></div>",
        "tabs": "<ul class=uk-tab><li role=tab class=uk-active><a>{t}</a><li role=tab><a>{u}</a></ul>",
        "table": "<table class='uk-table uk-table-divider'><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}</table>",
        "card": "<div class='uk-card uk-card-default uk-card-body'><h3>{t}</h3><p>{u} <a href=#>{t}</a></div>",
    }),
    "foundation-sites@6.9.0": ("dist/css/foundation.min.css", {
        "button": "<button class='button {tone} {size}'>{t}</button>", "field": "<input type=text {v}>",
        "area": "<textarea rows=2>{t}</textarea>", "select": "<select><option>{t}<option>{u}</select>",
        "tick": "<label><input type={kind} {on}> {t}</label>",
        "tabs": "<ul class=tabs><li role=tab class='tabs-title is-active'><a>{t}</a><li role=tab "
                "class=tabs-title><a>{u}</a></ul>",
        "table": "<table class=hover><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}<tr><td>{t}<td>{u}</table>",
        "card": "<div class='callout {tone}'><h5>{t}</h5><p>{u}</p><a href=#>{t}</a></div>",
    }),
    "spectre.css@0.5.9": ("dist/spectre.min.css", {
        "button": "<button class='btn btn-{tone} {size}'>{t}</button>", "field": "<input class=form-input {v}>",
        "area": "<textarea class=form-input rows=2>{t}</textarea>",
        "select": "<select class=form-select><option>{t}<option>{u}</select>",
        "tabs": "<ul class=tab><li role=tab class='tab-item active'><a>{t}</a><li role=tab "
                "class=tab-item><a>{u}</a></ul>",
        "table": "<table class='table table-striped'><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}</table>",
        "card": "<div class=card><div class=card-header>{t}</div><div class=card-body>{u} {t}</div></div>",
    }),
    "milligram@1.4.1": ("dist/milligram.min.css", {
        "button": "<button class='button button-{tone}'>{t}</button>", "field": "<input type=text {v}>",
        "area": "<textarea>{t}</textarea>", "select": "<select><option>{t}<option>{u}</select>",
        "tick": "<div><input type={kind} {on}> <label style='display:inline'>{t}</label></div>",
        "table": "<table><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}<tr><td>{t}<td>{u}</table>",
        "card": "<blockquote><p>{t} {u} <a href=#>{t}</a></blockquote>",
    }),
    "@picocss/pico@2.1.1": ("css/pico.min.css", {
        "button": "<button class='{tone} outline'>{t}</button>", "field": "<input type=text {v}>",
        "area": "<textarea>{t}</textarea>", "select": "<select><option>{t}<option>{u}</select>",
        "tick": "<label><input type={kind} {on}> {t}</label>",
        "table": "<table><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}</table>",
        "card": "<article><header>{t}</header>{u} {t} <a href=#>{u}</a></article>",
    }),
    "bulma@1.0.4": ("css/versions/bulma-no-dark-mode.min.css", {
        "button": "<button class='button is-{tone} {size}'>{t}</button>", "field": "<input class=input {v}>",
        "area": "<textarea class=textarea rows=2>{t}</textarea>",
        "select": "<div class=select><select><option>{t}<option>{u}</select></div>",
        "tick": "<div><label class={kind}><input type={kind} {on}> {t}</label></div>",
        "tabs": "<div class=tabs><ul><li role=tab class=is-active><a>{t}</a><li role=tab><a>{u}</a></ul></div>",
        "table": "<table class='table is-striped'><tr><th>{t}<th>{u}<tr><td>{u}<td>{t}</table>",
        "card": "<div class=box><h4 class=title>{t}</h4><p>{u} <a href=#>{t}</a></div>",
    }),
}  # fmt: skip
"""Package -> its stylesheet, and its components: {t}, {u} words, {v} a value or hint, {on} a tick."""
ICON_FONTS: Mapping[str, tuple[str, str]] = {
    "bootstrap-icons@1.13.2": ("font/bootstrap-icons.min.css", "bi bi-{}"),
    "@mdi/font@7.4.47": ("css/materialdesignicons.min.css", "mdi mdi-{}"),
    "boxicons@2.1.4": ("css/boxicons.min.css", "bx bx-{}"),
    "remixicon@4.9.1": ("fonts/remixicon.css", "ri-{}-line"),
}
ICONS: Mapping[str, Sequence[str]] = {
    "star": ("star",), "trash": ("trash", "trash-can", "delete-bin"), "search": ("search", "magnify"),
    "reply": ("reply",), "forward": ("forward",), "heart": ("heart",), "share": ("share-fill", "share-variant",
    "share-alt"), "more": ("three-dots", "dots-horizontal", "more", "dots-horizontal-rounded"),
    "close": ("x-lg", "close", "x"), "left": ("caret-left-fill", "menu-left", "chevron-left", "arrow-left-s"),
    "right": ("caret-right-fill", "menu-right", "chevron-right", "arrow-right-s"), "plus": ("plus-lg", "plus", "add"),
    "minus": ("dash-lg", "minus", "subtract"), "folder": ("folder", "folder-2"), "file": ("file", "file-earmark"),
    "back": ("arrow-left",), "": ("bell", "house", "home", "gear", "cog", "person", "user", "cart", "calendar"),
}  # fmt: skip
"""The name of an icon -> its names in the fonts; "" for icons without a name."""
HELD_OUT = ("bulma@1.0.4", "remixicon@4.9.1")
TONES = ("primary", "secondary", "success", "danger", "light", "default", "link", "outline", "warning", "dark")
SIZES = ("", "", "btn-sm", "btn-lg", "uk-button-small", "is-small", "is-large", "small")


def fetch(folder: Path) -> Mapping[str, str]:
    """The stylesheet of each package with its fonts in it, from the folder or else from npm.

    Raises CalledProcessError without npm or the network.
    """
    styles = {}
    for package, (place, _) in {**KITS, **ICON_FONTS}.items():
        home = folder / re.sub(r"\W", "-", package)
        if not home.is_dir():
            home.mkdir(parents=True)
            packed = subprocess.run(["npm", "pack", "--silent", package], cwd=home, check=True, capture_output=True)
            subprocess.run(["tar", "xzf", packed.stdout.decode().split()[-1]], cwd=home, check=True)
        styles[package] = _with_fonts(home / "package" / place)
    return styles


def _with_fonts(sheet: Path) -> str:
    """The text of a stylesheet, its fonts written into it."""

    def inlined(match: re.Match[str]) -> str:
        font = (sheet.parent / match[1]).read_bytes()
        return f"url(data:;base64,{base64.b64encode(font).decode()})"

    return re.sub(r"url\([\"']?([^\"')]+\.woff2)[^)]*\)", inlined, sheet.read_text("utf-8"))


def kit_page(seed: int, styles: Mapping[str, str], *, held_out: bool = False) -> str:
    """A page of one kit's components and one font's icons; the same for the same seed. `held_out`: of `HELD_OUT`."""
    rng = random.Random(seed)
    kit = rng.choice([package for package in KITS if (package in HELD_OUT) is held_out])
    font = rng.choice([package for package in ICON_FONTS if (package in HELD_OUT) is held_out])
    _, components = KITS[kit]
    _, icon_class = ICON_FONTS[font]
    blocks = []
    for _ in range(rng.randint(3, 9)):
        is_icon = rng.random() < 0.2
        blocks.append(_icons(rng, icon_class, styles[font]) if is_icon else _component(rng, components))
    ground = rng.choice(("#fff", "#fff", "#f6f8fa", "#212529"))
    ink = "#eee" if ground == "#212529" else "inherit"
    return (
        f"<!doctype html><meta charset=utf-8><style>{styles[kit]}</style><style>{styles[font]}</style><style>html{{"
        f"font-size:16px}}body{{zoom:{rng.uniform(0.42, 0.75):.2f};margin:4px;padding:0;background:{ground};"
        f"color:{ink}}}"
        f"</style><body data-theme=light><div style='height:{rng.randint(70, 90)}px'></div>"
        f"<div id=area style='width:{rng.randint(150, 330)}px'>"
        f"{''.join(blocks)}</div>"
    )


def _component(rng: random.Random, components: Mapping[str, str]) -> str:
    """A random component of a kit, at times with a label; controls are three times as frequent as the others."""
    controls = ("button", "field", "tick", "select")
    names = [name for name in components for _ in range(3 if name in controls else 1)]
    name = rng.choice(names)
    words = {
        "t": text(rng, 3),
        "u": text(rng, 2),
        "v": f"placeholder='{text(rng, 2)}'",
        "on": rng.choice(("", "checked")),
    }
    if rng.random() < 0.5:
        words["v"] = f"value='{text(rng, 2)}'"
    html = components[name].format(
        **words, kind=rng.choice(("checkbox", "radio")), tone=rng.choice(TONES), size=rng.choice(SIZES)
    )
    label = f"<label>{text(rng, 2)}</label>" if name in ("field", "select", "area") and rng.random() < 0.7 else ""
    look = f"display:{rng.choice(('block', 'block', 'inline-block'))};margin:{rng.randint(2, 14)}px"
    return f"<div style='{look}'>{label}{html}</div>"


def _icons(rng: random.Random, icon_class: str, style: str) -> str:
    """One to three times a random icon of a font; nothing where the font lacks it. `icon_class` has {} for its name."""
    kind = rng.choice(list(ICONS))
    selector = icon_class.split()[-1]
    names = [name for name in ICONS[kind] if f".{selector.format(name)}:" in style]
    look = f"font-size:{rng.randint(14, 40)}px;margin:4px;cursor:pointer;line-height:1;display:inline-block"
    count = rng.randint(1, 3)
    if not names:
        return ""
    return f"<i class='{icon_class.format(names[0])}' data-icon='{kind}' style='{look}'></i>" * count
