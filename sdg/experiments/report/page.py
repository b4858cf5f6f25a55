"""`sdg report RUN [--beside OTHER]`: one offline HTML file about a run, finished or not.

No script, nothing loaded from anywhere (a content security policy in the page says so), and every text that came from a
model, a mission or a file is escaped.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from sdg.console import readable
from sdg.deduction.episode import EpisodeResult
from sdg.experiments.play.film import data_address, episode_gif
from sdg.experiments.report import data as data_of, panels
from sdg.experiments.report.data import RunData, number, read_run, rows_of, text, value_of
from sdg.experiments.report.exchanges import exchanges, samples, spending
from sdg.experiments.report.panels import Mark
from sdg.llm.budget import BudgetSettings
from sdg.llm.registry import is_rule_based
from sdg.storage import atomic_write

TEMPLATES = Path(__file__).parents[1] / "templates"
FAILED_FILMS = 4
"""Failures that are shown as films beside an episode of each level."""
MAX_TEXT = 12_000
"""Characters of a text that are shown."""


def write(run: Path, out: Path | None = None, *, beside: Path | None = None) -> Path:
    """Write the report of the run in `run`; returns where it is. The run may still be under way.

    With `beside`, another run, its figures stand beside those of `run`.
    Raises `RunFolderError` when either folder is no run, `RunError` when the file can't be written.
    """
    path = out or run / "report.html"
    atomic_write(path, page(read_run(run), read_run(beside) if beside else None))
    return path


def page(data: RunData, other: RunData | None = None) -> str:
    """The report as HTML, with the other run's figures beside it."""
    style = (TEMPLATES / "report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # The style holds no outside value; as Markup it stays the same byte for byte, as its hash in the policy requires.
    pair: dict[str, Any] = {"beside": str(other.path) if other else None}
    if other:
        pair |= {"rates": data_of.beside(data, other), "apart": data_of.settings_apart(data, other)}
        pair["facts_beside"] = [(key, here, _facts(other).get(key, "")) for key, here in _facts(data).items()]
    return render("report.html", style=Markup(style), style_hash=digest, **_content(data), **pair)


def render(template: str, **values: Any) -> str:
    """A page of `templates`; every text of the values is escaped and of bounded length."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_format,
    )
    environment.filters.update(percent=percent, interval=interval, amount=amount, difference=difference)
    return environment.get_template(template).render(**values)


def _content(data: RunData) -> dict[str, Any]:
    gaps = list(data.gaps)
    description = data.description
    return {
        "name": text(description["config"], "name") or data.path.name,
        "facts": _facts(data),
        "rule_based": is_rule_based(_model_kind(description)),
        "config": json.dumps(description["config"], indent=1),
        "success": data_of.success_rows(data),
        "by_level": data_of.by_level(data_of.success_rows(data)),
        "spending": spending(exchanges(data.path, gaps), _budget(description)),
        "samples": samples(exchanges(data.path, gaps)),
        "calls": data_of.calls(data),
        "stages": [
            (str(name), number(row, "seconds") if isinstance(row, Mapping) else None)
            for name, row in value_of(data.results, "stages", dict).items()
        ],
        "verified": data_of.verification_rows(data),
        "verify_causes": data_of.causes(data.verifications),
        "examples": data_of.examples(data),
        "stability": number(data.induction, "stability"),
        "chosen_k": _chosen_k(data),
        "degenerate": bool(data.induction.get("degenerate")),
        "decisions": rows_of(data.induction, "decisions"),
        "clusters": data_of.cluster_rows(data),
        "episode_causes": data_of.causes(row for row in data.episodes if text(row, "agent") == data_of.OURS),
        "failures": data_of.failures(data),
        "films": _films(data, gaps),
        "plots": _plots(data, gaps),
        "gaps": gaps,
        "text": text,
        "number": number,
        "rows_of": rows_of,
    }


def _facts(data: RunData) -> dict[str, str]:
    description = data.description
    facts = {
        "begun": text(description, "created"),
        "command": " ".join(map(str, value_of(description, "command", list))),
        "seed": str(description["seed"]),
        "source": text(description, "git") or "unknown",
        "model": _model_kind(description),
        "machine": ", ".join(f"{name} {value}" for name, value in value_of(description, "machine", dict).items()),
        "versions": ", ".join(f"{name} {value}" for name, value in value_of(description, "versions", dict).items()),
        "resumed": f"{len(description['resumed'])} times" if description.get("resumed") else "",
    }
    return {key: value for key, value in facts.items() if value}


def _model_kind(description: Mapping[str, Any]) -> str:
    return text(value_of(description["config"], "model", dict), "kind")


def _budget(description: Mapping[str, Any]) -> BudgetSettings:
    """The prices of tokens in the run's own config, without its limits; 0 if it has no usable ones."""
    prices = value_of(description["config"], "budget", dict)
    return BudgetSettings(
        prompt_price=number(prices, "prompt_price") or 0.0,
        completion_price=number(prices, "completion_price") or 0.0,
        cached_price=number(prices, "cached_price"),
    )


def _films(data: RunData, gaps: list[str]) -> list[dict[str, Any]]:
    films = []
    world = data_of.domain_name_of(data.description)
    episodes = list(data_of.chosen_episodes(data))
    episodes += [row for row in data_of.failures(data, most=FAILED_FILMS) if row not in episodes]
    for row in episodes:
        try:
            film = episode_gif(EpisodeResult.from_json(row), domain_name=world)
            films.append({"row": row, "uri": Markup(data_address("image/gif", film))})
        except Exception as error:  # A bad row mustn't hide the films of other levels.
            gaps.append(f"The episode {text(row, 'unit')!r} can't be shown: {error}")
    return films


def _chosen_k(data: RunData) -> int | None:
    """The k that the score chose, before clusters were reviewed."""
    k = number(data.induction, "k_means") or number(data.induction, "k")
    return int(k) if k is not None else None


def _plots(data: RunData, gaps: list[str]) -> dict[str, Any]:
    """Plots as data addresses, "" without anything to draw, and the skills whose curves are too short to draw."""

    def draw(name: str, content: Any, plot: Callable[[Any], bytes]) -> str:
        try:
            return Markup(data_address("image/svg+xml", plot(content))) if content else ""
        except Exception as error:  # One plot of odd numbers mustn't cost the page.
            gaps.append(f"The plot of {name} can't be drawn: {error}")
            return ""

    clusters = rows_of(data.induction, "clusters")
    points = {text(cluster, "name") or f"cluster {i}": data_of.points_of(cluster) for i, cluster in enumerate(clusters)}
    curves = data_of.curves(data)
    long = {name: lines for name, lines in curves.items() if max(map(len, lines.values())) >= MIN_POINTS}
    return {
        "success": draw("success", data_of.success_rows(data), _success_plot),
        "calinski": draw(
            "scores", data_of.calinski_scores(data), lambda scores: panels.calinski_plot(scores, _chosen_k(data))
        ),
        "clusters": draw("clusters", points if any(points.values()) else None, panels.cluster_plot),
        "curves": draw("learning curves", long, panels.curves_plot),
        "quick": [name for name in curves if name not in long],
    }


MIN_POINTS = 3
"""Points that a learning curve needs to be drawn."""


def _success_plot(rows: Sequence[Mapping[str, Any]]) -> bytes:
    levels, agents = data_of.by_level(rows)
    lines: dict[str, list[Mark]] = {agent: [] for agent, _ in agents}
    for row in rows:
        rate = float(row["success_rate"])
        low, high = number(row, "low"), number(row, "high")
        ends = (rate if low is None else min(low, rate), rate if high is None else max(high, rate))
        lines[text(row, "agent")].append((levels.index(text(row, "level")), rate, *ends))
    return panels.success_plot(levels, lines)


def difference(pair: Mapping[str, Any]) -> str:
    """Points in % by which a rate is higher here than there, "" where one is missing."""
    here, there = number(pair["here"], "rate"), number(pair["there"], "rate")
    return "" if here is None or there is None else f"{100 * (here - there) + 0.0:+.1f}"


def _format(value: Any) -> Any:
    """Make every expression of the template printable and of bounded length, before it is escaped."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return readable(value.expandtabs(4), most=MAX_TEXT) if is_text else value


def percent(value: object) -> str:
    """A rate in [0, 1] as %."""
    rate = number({"": value}, "")
    return "–" if rate is None else f"{100 * rate:.1f}"


def interval(row: Mapping[str, Any]) -> str:
    """A row's interval as %, "" without one."""
    low, high = number(row, "low"), number(row, "high")
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def amount(value: object) -> str:
    """A number with few digits, or a dash."""
    figure = number({"": value}, "")
    if figure is None:
        return "–"
    return f"{figure:,.4g}" if figure < 1e4 else f"{figure:,.0f}"
