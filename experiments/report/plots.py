"""Plots as SVG, drawn without pyplot's global state. Labels come from models and files: they are never markup."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdg.experiments.cli.errors import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's colours, which people with colour-blindness can tell apart; markers differ as well."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MAX_LABEL, MAX_TITLE = 28, 48

Point = tuple[float, float]


def success_plot(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Success in % with intervals, levels along x, an agent a colour; rates and their ends in [0, 1]."""
    levels = list(dict.fromkeys(str(row["level"]) for row in rows))
    agents = list(dict.fromkeys(str(row["agent"]) for row in rows))

    def draw(axes: Axes) -> None:
        for index, agent in enumerate(agents):
            mine = [row for row in rows if row["agent"] == agent]
            offset = (index - (len(agents) - 1) / 2) * 0.7 / max(len(agents), 2)
            xs = [levels.index(str(row["level"])) + offset for row in mine]
            ys = [100 * float(row["success_rate"]) for row in mine]
            ends = [[_below(row) for row in mine], [_above(row) for row in mine]]
            axes.errorbar(xs, ys, yerr=ends, label=label(agent), linestyle="none", capsize=3, **style(index))
        axes.set_xticks(range(len(levels)), [label(level) for level in levels])
        axes.set_xlim(-0.6, len(levels) - 0.4)
        axes.set_ylim(-4, 104)
        axes.set_ylabel("success, %")
        legend(axes, outside=True)

    return figure(draw, width=max(6.4, 1.6 * len(levels) + 1))


def learning_plot(name: str, lines: Mapping[str, Sequence[Point]]) -> bytes:
    """One skill's success in % over environment steps; lines: name -> (steps, success in [0, 1])."""
    from matplotlib.ticker import EngFormatter

    def draw(axes: Axes) -> None:
        for index, (title, points) in enumerate(lines.items()):
            own = style(index) | {"markersize": 3}
            axes.plot([x for x, _ in points], [100 * y for _, y in points], label=label(title), **own)
        axes.set_ylim(-4, 104)
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_ylabel("success, %")
        axes.set_xlim(left=0)
        axes.set_title(label(name, most=MAX_TITLE))
        legend(axes, place="lower right")

    return figure(draw, width=4.2, height=2.8)


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
        drawn = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(drawn)
        draw(drawn)
        out = io.BytesIO()
        dateless: Any = {"Date": None} if form == "svg" else {"Software": None}
        drawn.savefig(out, format=form, metadata=dateless, dpi=150)
    return out.getvalue()


def label(text: str, *, most: int = MAX_LABEL) -> str:
    """A text as a label: printable, short, and not hidden by matplotlib for a leading underscore."""
    shown = readable(text).replace("\n", " ").lstrip("_") or "(no name)"
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def style(index: int) -> dict[str, Any]:
    """Colour and marker of the line with this number."""
    marker = index + index // len(COLOURS)  # The ninth line has the first one's colour, but not its marker.
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[marker % len(MARKERS)]}


def legend(axes: Axes, *, outside: bool = False, place: str = "best") -> None:
    """A legend where there is anything to name."""
    if axes.get_legend_handles_labels()[1]:
        where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {"loc": place}
        axes.legend(frameon=False, fontsize=8, **where)


def _below(row: Mapping[str, Any]) -> float:
    low = row.get("low")
    return max(0.0, 100 * (float(row["success_rate"]) - float(low))) if isinstance(low, int | float) else 0.0


def _above(row: Mapping[str, Any]) -> float:
    high = row.get("high")
    return max(0.0, 100 * (float(high) - float(row["success_rate"]))) if isinstance(high, int | float) else 0.0
