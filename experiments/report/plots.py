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
