"""Draws docs/figures/layers.svg from the layers that import-linter checks: python docs/figures/layers.py"""

from __future__ import annotations

import configparser
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ABOUT = {
    "api": "what import sdg gives",
    "experiments": "the sdg command, configs, runs, reports, benchmarks",
    "pipeline": "a run: the four stages with resume",
    "agents": "the stages, the gate, language models, privacy, agents",
    "skills": "checks, practice, search, learning, clustering, the library",
    "envs": "worlds and what they show; the sandbox for generated code",
}
WIDTH, LINE, GAP, COLUMNS = 760, 21, 12, 80


def layers() -> list[list[str]]:
    """The packages of each layer, from the top to the bottom."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = setup["importlinter:contract:layers"]["layers"].split("\n")
    return [[name.strip() for name in line.split(":")] for line in lines if line.strip()]


def svg() -> str:
    """The picture: a box for each layer, which imports only boxes below it."""
    boxes, top = [], 10
    for packages in layers():
        names = textwrap.wrap(", ".join(sorted(packages)), COLUMNS)
        height = LINE * (len(names) + 1) + 16
        boxes.append(f'<rect x="10" y="{top}" width="{WIDTH - 60}" height="{height}" rx="6"/>')
        for number, line in enumerate([*names, ABOUT.get(packages[0], "")], 1):
            kind = "name" if number <= len(names) else "about"
            boxes.append(f'<text x="24" y="{top + LINE * number + 4}" class="{kind}">{line}</text>')
        top += height + GAP
    arrow = f'<path d="M{WIDTH - 28} 14V{top - 22}m-8 -10l8 10l8 -10"/>'
    side = f'<text class="side" transform="translate({WIDTH - 8} {top // 2}) rotate(90)">imports</text>'
    style = (
        "svg{background:#fff}text{font:14px sans-serif;fill:#333}.name{font-weight:bold;fill:#004d40}"
        ".side{text-anchor:middle}rect{fill:#e0f2f1;stroke:#00897b}path{fill:none;stroke:#00897b;stroke-width:2}"
    )
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    body = "\n".join([*boxes, arrow, side])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{style}</style>\n{body}\n</svg>\n'


if __name__ == "__main__":
    (ROOT / "docs" / "figures" / "layers.svg").write_text(svg(), "utf-8")
