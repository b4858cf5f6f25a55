"""Figures of several panels side by side: curves with bands or points with error bars, rates in percent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sdg.experiments.report.plots import label, page, quiet_grid, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

    def drawn(self, form: str) -> bytes:
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
                self._panel(place, panel)
            for place in grid.flat[len(self.panels) :]:
                place.set_axis_off()
            self._around(whole, grid.flat[0])

        return page(draw, width=max(width * columns, 4.5), height=height * rows + 0.9, form=form)

    def _panel(self, axes: Axes, panel: Panel) -> None:
        quiet_grid(axes)
        for index, (name, marks) in enumerate(panel.lines.items()):
            xs, ys = [mark.x for mark in marks], [100 * mark.value for mark in marks]
            lows, highs = [100 * mark.low for mark in marks], [100 * mark.high for mark in marks]
            own = style(index) | ({"marker": ""} if len(marks) > TOO_MANY_MARKS else {"markersize": 4})
            if self.ticks:
                self._bars(axes, index, of=len(panel.lines), name=name, marks=marks)
                continue
            axes.plot(xs, ys, label=label(name), linewidth=1.3, **own)
            axes.fill_between(xs, lows, highs, color=own["color"], alpha=0.18, linewidth=0)
        if panel.title:
            axes.set_title(label(panel.title, most=40), fontsize=9)
        axes.set_ylim(-4, 104)
        axes.set_xlabel(self.x)
        if self.ticks:
            axes.set_xticks(range(len(self.ticks)), [label(tick) for tick in self.ticks])
            axes.set_xlim(-0.6, len(self.ticks) - 0.4)
        else:
            _count_ticks(axes, [mark.x for marks in panel.lines.values() for mark in marks])

    def _bars(self, axes: Axes, index: int, *, of: int, name: str, marks: Sequence[Mark]) -> None:
        offset = (index - (of - 1) / 2) * 0.6 / max(of, 2)
        ends = [[100 * (m.value - m.low) for m in marks], [100 * (m.high - m.value) for m in marks]]
        xs, ys = [mark.x + offset for mark in marks], [100 * mark.value for mark in marks]
        axes.errorbar(xs, ys, yerr=ends, label=label(name), linestyle="none", capsize=3, markersize=4, **style(index))

    def _around(self, whole: Figure, first: Axes) -> None:
        whole.supylabel(self.y, fontsize=9)
        handles, names = first.get_legend_handles_labels()
        if len(names) > 1:
            whole.legend(handles, names, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
        if self.note:
            whole.supxlabel(self.note, fontsize=8, color="#555555")


def _count_ticks(axes: Axes, xs: Sequence[float]) -> None:
    """Whole numbers along x, thousands as k."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    if max(xs, default=0) >= 1000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


__all__ = ["Mark", "Panel", "Panels"]
