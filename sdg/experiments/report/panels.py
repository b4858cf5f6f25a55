"""The plots of a report: success with error bars, learning curves, the number of clusters, the clusters."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from sdg.console import readable

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's colours, which people with colour-blindness can tell apart; markers differ as well."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_LABEL = 28
STYLE: Any = {
    "svg.hashsalt": "sdg",
    "font.size": 9,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "text.parse_math": False,
}
"""matplotlib's settings of every plot."""

Point = tuple[float, float]
Mark = tuple[float, float, float, float]
"""A place on the x axis, a measured rate there in [0, 1], and the ends of its interval."""


@rc_context(STYLE)
def calinski_plot(scores: Sequence[tuple[int, float]], chosen: int | None) -> bytes:
    """The Calinski-Harabasz score over the number of clusters k, with the chosen k marked (SDG, Fig. 8)."""
    axes = new_axes(width=4.6, height=3.2)
    axes.plot([k for k, _ in scores], [score for _, score in scores], color=COLOURS[0], marker="o", markersize=4)
    for k, score in scores:
        if k == chosen:
            axes.plot([k], [score], "o", color=COLOURS[1], markersize=10, fillstyle="none", label=f"chosen, k = {k}")
            legend(axes)
    axes.set_xlabel("clusters k")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("Calinski-Harabasz score")
    return svg(axes.figure)


@rc_context(STYLE)
def cluster_plot(clusters: Mapping[str, Sequence[Point]]) -> bytes:
    """Members in the plane by t-SNE, a cluster a colour and marker (SDG, Fig. 9)."""
    axes = new_axes(width=6.4, height=4.0)
    for index, (name, points) in enumerate(clusters.items()):
        look = style(index) | {"linestyle": "none", "markersize": 5, "alpha": 0.7}
        axes.plot([x for x, _ in points], [y for _, y in points], label=label(name), **look)
    axes.set_axis_off()
    legend(axes, outside=True)
    return svg(axes.figure)


def new_axes(*, width: float, height: float) -> Axes:
    """The one pair of axes of a new figure, width and height in inches."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def svg(sheet: Any) -> bytes:
    """A figure as an SVG; the same drawing gives the same bytes."""
    out = io.BytesIO()
    sheet.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def label(text: str, *, most: int = MAX_LABEL) -> str:
    """A text as a label: printable, short, and not hidden by matplotlib for a leading underscore."""
    line = readable(text).replace("\n", " ").lstrip("_") or "(no name)"
    return line if len(line) <= most else f"{line[: most - 1]}…"


def style(index: int) -> dict[str, Any]:
    """Colour and marker of the line with this number."""
    marker = index + index // len(COLOURS)  # The ninth line has the first one's colour, but not its marker.
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[marker % len(MARKERS)]}


def legend(axes: Axes, *, outside: bool = False) -> None:
    """A legend, if the plot has labels."""
    if axes.get_legend_handles_labels()[1]:
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {"loc": "best"}
        axes.legend(**where)


COLUMNS = 3
TOO_MANY_MARKS = 10


@rc_context(STYLE)
def success_plot(levels: Sequence[str], agents: Mapping[str, Sequence[Mark]]) -> bytes:
    """Success by level in percent with intervals, a colour and a marker an agent."""
    axes = new_axes(width=max(6.0, 1.1 * len(levels) + 1.5), height=3.4)
    for index, (name, marks) in enumerate(agents.items()):
        offset = (index - (len(agents) - 1) / 2) * 0.6 / max(len(agents), 2)
        xs, rates, lows, highs = zip(*marks, strict=True)
        below = [100 * (rate - low) for rate, low in zip(rates, lows, strict=True)]
        above = [100 * (high - rate) for rate, high in zip(rates, highs, strict=True)]
        axes.errorbar(
            [x + offset for x in xs],
            [100 * rate for rate in rates],
            yerr=[below, above],
            label=label(name),
            linestyle="none",
            capsize=3,
            markersize=4,
            **style(index),
        )
    axes.set_ylim(-4, 104)
    axes.set_ylabel("success, %")
    axes.set_xticks(range(len(levels)), [label(level) for level in levels])
    axes.set_xlim(-0.6, len(levels) - 0.4)
    legend(axes, outside=True)
    return svg(axes.figure)


@rc_context(STYLE)
def curves_plot(skills: Mapping[str, Mapping[str, Sequence[Point]]]) -> bytes:
    """Learning curves, a panel a skill: success in percent over environment steps."""
    columns, rows = min(COLUMNS, len(skills)), math.ceil(len(skills) / COLUMNS)
    width, height = 3.1, 2.5  # inches of a panel
    sheet = Figure(figsize=(max(width * columns, 4.5), height * rows + 0.9), layout="constrained")
    grid = sheet.subplots(rows, columns, sharey=True, squeeze=False)
    for panel in grid.flat[len(skills) :]:
        panel.set_axis_off()
    for panel, (name, curves) in zip(grid.flat, skills.items(), strict=False):
        for index, (title, points) in enumerate(curves.items()):
            look = style(index) | ({"marker": ""} if len(points) > TOO_MANY_MARKS else {"markersize": 4})
            heights = [100 * rate for _, rate in points]
            panel.plot([steps for steps, _ in points], heights, label=title, linewidth=1.3, **look)
        panel.set_title(label(name, most=40), fontsize=9)
        panel.set_ylim(-4, 104)
        panel.set_xlabel("environment steps")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    sheet.supylabel("success, %", fontsize=9)
    sheet.supxlabel("the rounds of a skill follow one another", fontsize=8, color="#555555")
    sheet.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return svg(sheet)
