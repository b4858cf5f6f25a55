"""Figures of several panels side by side: curves with bands or points with error bars, rates in percent."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sdg.console import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's colours, which people with colour-blindness can tell apart; markers differ as well."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_LABEL = 28

Point = tuple[float, float]


def calinski_plot(scores: Sequence[tuple[int, float]], chosen: int | None) -> bytes:
    """The Calinski-Harabasz score over the number of clusters k, with the chosen k marked (SDG, Fig. 8)."""
    from matplotlib.ticker import MaxNLocator

    def draw(axes: Axes) -> None:
        axes.plot([k for k, _ in scores], [score for _, score in scores], color=COLOURS[0], marker="o", markersize=4)
        for k, score in scores:
            if k == chosen:
                axes.plot(
                    [k], [score], "o", color=COLOURS[1], markersize=10, fillstyle="none", label=f"chosen, k = {k}"
                )
                legend(axes)
        axes.set_xlabel("clusters k")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("Calinski-Harabasz score")

    return figure(draw, width=4.6, height=3.2)


def cluster_plot(clusters: Mapping[str, Sequence[Point]]) -> bytes:
    """Members in the plane by t-SNE, a cluster a colour and marker (SDG, Fig. 9)."""

    def draw(axes: Axes) -> None:
        for index, (name, points) in enumerate(clusters.items()):
            own = style(index) | {"linestyle": "none", "markersize": 5, "alpha": 0.7}
            axes.plot([x for x, _ in points], [y for _, y in points], label=label(name), **own)
        axes.set_axis_off()
        legend(axes, outside=True)

    return figure(draw, width=6.4, height=4.0)


def figure(draw: Callable[[Axes], None], *, width: float = 6.0, height: float = 3.4) -> bytes:
    """An SVG of one pair of axes, width and height in inches; the same drawing gives the same bytes."""

    def whole(page: Figure) -> None:
        axes = page.add_subplot()
        quiet_grid(axes)
        draw(axes)

    return page(whole, width=width, height=height)


def quiet_grid(axes: Axes) -> None:
    """Faint horizontal lines behind what is drawn."""
    axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def page(draw: Callable[[Figure], None], *, width: float, height: float, form: str = "svg") -> bytes:
    """A whole figure as "svg" or "png", width and height in inches; the same drawing gives the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": "sdg",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings):
        sheet = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(sheet)
        draw(sheet)
        out = io.BytesIO()
        dateless: Any = {"Date": None} if form == "svg" else {"Software": None}
        sheet.savefig(out, format=form, metadata=dateless, dpi=150)
    return out.getvalue()


def label(text: str, *, most: int = MAX_LABEL) -> str:
    """A text as a label: printable, short, and not hidden by matplotlib for a leading underscore."""
    line = readable(text).replace("\n", " ").lstrip("_") or "(no name)"
    return line if len(line) <= most else f"{line[: most - 1]}…"


def style(index: int) -> dict[str, Any]:
    """Colour and marker of the line with this number."""
    marker = index + index // len(COLOURS)  # The ninth line has the first one's colour, but not its marker.
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[marker % len(MARKERS)]}


def legend(axes: Axes, *, outside: bool = False, place: str = "best") -> None:
    """A legend where there is anything to name."""
    if axes.get_legend_handles_labels()[1]:
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {"loc": place}
        axes.legend(frameon=False, fontsize=8, **where)


COLUMNS = 3
PANEL_INCHES = (3.1, 2.5)
TOO_MANY_MARKS = 10


@dataclass(frozen=True, slots=True)
class Mark:
    """A measured rate at `x` with the ends of its interval, in [0, 1]."""

    x: float
    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, x: float, value: float) -> Mark:
        """A rate without an interval."""
        return cls(x, value, value, value)


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: lines by name, the same names in every panel of a figure."""

    title: str
    lines: Mapping[str, Sequence[Mark]]


@dataclass(frozen=True, slots=True)
class Panels:
    """A figure of panels; `ticks` are names of x = 0, 1, ... where x is no number. `note` stands below."""

    panels: Sequence[Panel]
    x: str
    y: str = "success, %"
    note: str = ""
    ticks: Sequence[str] = field(default_factory=tuple)

    def render(self, form: str) -> bytes:
        """The figure as "svg" or "png". Raises ValueError without panels."""
        if not self.panels:
            raise ValueError("a figure needs at least one panel")
        columns = min(COLUMNS, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        width, height = PANEL_INCHES
        width = max(width, 1.1 * len(self.ticks))

        def draw(whole: Figure) -> None:
            grid = whole.subplots(rows, columns, sharey=True, squeeze=False)
            for place, panel in zip(grid.flat, self.panels, strict=False):
                quiet_grid(place)
                for index, (name, marks) in enumerate(panel.lines.items()):
                    xs, ys = [mark.x for mark in marks], [100 * mark.value for mark in marks]
                    lows, highs = [100 * mark.low for mark in marks], [100 * mark.high for mark in marks]
                    own = style(index) | ({"marker": ""} if len(marks) > TOO_MANY_MARKS else {"markersize": 4})
                    if self.ticks:
                        self._bars(place, index, of=len(panel.lines), name=name, marks=marks)
                        continue
                    place.plot(xs, ys, label=label(name), linewidth=1.3, **own)
                    place.fill_between(xs, lows, highs, color=own["color"], alpha=0.18, linewidth=0)
                if panel.title:
                    place.set_title(label(panel.title, most=40), fontsize=9)
                place.set_ylim(-4, 104)
                place.set_xlabel(self.x)
                if self.ticks:
                    place.set_xticks(range(len(self.ticks)), [label(tick) for tick in self.ticks])
                    place.set_xlim(-0.6, len(self.ticks) - 0.4)
                else:
                    _count_ticks(place, [mark.x for marks in panel.lines.values() for mark in marks])
            for place in grid.flat[len(self.panels) :]:
                place.set_axis_off()
            first = grid.flat[0]
            whole.supylabel(self.y, fontsize=9)
            handles, names = first.get_legend_handles_labels()
            if len(names) > 1:
                whole.legend(handles, names, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
            if self.note:
                whole.supxlabel(self.note, fontsize=8, color="#555555")

        return page(draw, width=max(width * columns, 4.5), height=height * rows + 0.9, form=form)

    def _bars(self, axes: Axes, index: int, *, of: int, name: str, marks: Sequence[Mark]) -> None:
        offset = (index - (of - 1) / 2) * 0.6 / max(of, 2)
        ends = [[100 * (m.value - m.low) for m in marks], [100 * (m.high - m.value) for m in marks]]
        xs, ys = [mark.x + offset for mark in marks], [100 * mark.value for mark in marks]
        axes.errorbar(xs, ys, yerr=ends, label=label(name), linestyle="none", capsize=3, markersize=4, **style(index))


def _count_ticks(axes: Axes, xs: Sequence[float]) -> None:
    """Whole numbers along x, thousands as k."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    if max(xs, default=0) >= 1000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
