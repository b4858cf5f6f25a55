"""The contents of a run folder, read with care: a run may be unfinished, and nothing in its files is trusted.

Missing and broken files become lines in `gaps` instead of errors, so that there is always a report.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sdg.envs.domains import DEFAULT
from sdg.experiments.config.config import MAP
from sdg.experiments.play.episodes import ALL
from sdg.skills.statistics import wilson_interval
from sdg.storage import RunError, differences, read_artefact, read_description, read_journal, read_metrics

Row = Mapping[str, Any]
T = TypeVar("T")

OURS = "sdg"
"""The agent whose episodes are shown."""
MAX_NAMES = 200
"""Levels, and agents, that a report tells apart; there are about a hundred, and ten."""


@dataclass(frozen=True)
class RunData:
    """The files of a run as plain rows."""

    path: Path
    description: Row
    verifications: Sequence[Row] = ()
    episodes: Sequence[Row] = ()
    metrics: Sequence[Row] = ()
    skills: Sequence[Row] = ()
    results: Row = field(default_factory=dict)
    induction: Row = field(default_factory=dict)
    gaps: Sequence[str] = ()


READERS: Mapping[str, Callable[[Path], Any]] = {
    "verifications.jsonl": read_journal,
    "episodes.jsonl": read_journal,
    "metrics.jsonl": read_metrics,
    "skills.jsonl": read_journal,
    "results.json": read_artefact,
    "induction.json": read_artefact,
}
"""How each file of a finished run is read."""


def read_run(path: Path) -> RunData:
    """Read the files of a run that exist. Raises `RunFolderError` only when `path` is no run at all."""
    description = read_description(path)
    gaps = [f"There is no {name} (yet)." for name in READERS if not (path / name).exists()]
    contents: dict[str, Any] = {}
    for file in filter(Path.exists, map(path.joinpath, READERS)):
        try:
            contents[file.stem] = READERS[file.name](file)
        except RunError as error:
            gaps.append(str(error))
    shown: dict[str, Any] = {
        name: _first(rows, gaps) for name, rows in contents.items() if name in ("verifications", "episodes")
    }
    if rows := rows_of(contents.get("results", {}), "rows"):
        shown["results"] = {**contents["results"], "rows": _first(rows, gaps)}
    return RunData(path, description, gaps=gaps, **contents | shown)


def domain_name_of(description: Row) -> str:
    """The name of the domain that a run is in, as `RunConfig.world` has it."""
    name = text(description["config"], "domain") or DEFAULT
    preset = text(description["config"], "perception") or MAP
    return name if preset == MAP else f"{name}-{preset}"


def _first(rows: Sequence[Row], gaps: list[str]) -> Sequence[Row]:
    """Rows of the first `MAX_NAMES` levels and agents, because tables and plots grow with both; others are a gap."""
    first = {key: list(dict.fromkeys(text(row, key) for row in rows))[:MAX_NAMES] for key in ("level", "agent")}
    allowed = {(level, agent) for level in first["level"] for agent in first["agent"]}
    allowed_rows = [row for row in rows if (text(row, "level"), text(row, "agent")) in allowed]
    if len(allowed_rows) < len(rows):
        gaps.append(f"{len(rows) - len(allowed_rows)} rows of more than {MAX_NAMES} levels or agents aren't shown.")
    return allowed_rows


def number(row: Row, key: str) -> float | None:
    """A finite number, or None for anything else."""
    value: Any = row.get(key)
    return float(value) if type(value) in (int, float) and abs(value) < 1e300 else None


def value_of(row: Row, key: str, kind: type[T]) -> T:
    """A value of a kind, an empty one for anything else."""
    value = row.get(key)
    return value if isinstance(value, kind) else kind()


def text(row: Row, key: str) -> str:
    """A text, "" for anything else."""
    return value_of(row, key, str)


def rows_of(row: Row, key: str) -> list[Row]:
    """The objects in a list, none for anything else."""
    return [item for item in value_of(row, key, list) if isinstance(item, Mapping)]


def success_rows(data: RunData) -> list[dict[str, Any]]:
    """Success by level and agent with 95 % Wilson intervals: from results.json, or from the episodes so far. In the
    median of steps a failure counts with its step limit."""
    rows = (row for row in rows_of(data.results, "rows") if text(row, "level") != ALL)
    table = [dict(row) for row in rows if number(row, "success_rate") is not None]
    if table:
        return [row | {"level": text(row, "level"), "agent": text(row, "agent")} for row in table]
    counted = [
        {**row, "steps": row.get("steps" if row.get("success") is True else "max_steps")} for row in data.episodes
    ]
    return list(
        _summaries(
            counted,
            ("level", "agent"),
            success_key="success",
            rate_column="success_rate",
            count_column="episodes",
            medians={"median_steps": "steps"},
        )
    )


def verification_rows(data: RunData) -> list[dict[str, Any]]:
    """Share of verified hypotheses by level, and what the search cost."""
    return list(
        _summaries(
            data.verifications,
            ("level",),
            success_key="verified",
            rate_column="verified",
            count_column="hypotheses",
            medians={"searched": "searched_steps", "replayed": "replayed_steps"},
        )
    )


def _summaries(
    rows: Sequence[Row],
    group_keys: tuple[str, ...],
    *,
    success_key: str,
    rate_column: str,
    count_column: str,
    medians: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """A row for each group with equal `group_keys`: the share of successes with its 95 % Wilson interval and the number
    of rows, and `medians` of numbers by name."""
    import pandas

    records = [
        {key: text(row, key) for key in group_keys}
        | {"good": row.get(success_key) is True}
        | {name: number(row, key) for name, key in medians.items()}
        for row in rows
    ]
    frame = pandas.DataFrame(records, columns=[*group_keys, "good", *medians]).astype(dict.fromkeys(medians, float))
    for key, group in frame.groupby(list(group_keys), sort=False):
        rate = wilson_interval(int(group.good.sum()), len(group))
        values = {name: value for name, value in group[list(medians)].median().items() if value == value}
        interval = {rate_column: rate.value, "low": rate.low, "high": rate.high, count_column: len(group)}
        yield dict(zip(group_keys, key, strict=True)) | interval | dict.fromkeys(medians) | values


def beside(data: RunData, other_run: RunData) -> list[dict[str, Any]]:
    """Every rate of either run: `of` names it, `here` and `there` are its rows, {} for a run without it."""
    here, there = _rates(data), _rates(other_run)
    return [{"of": name, "here": here.get(name, {}), "there": there.get(name, {})} for name in here | there]


def _rates(run: RunData) -> dict[str, Row]:
    return {
        **{
            f"{row['level']}: solved by {row['agent']}": row | {"rate": row["success_rate"]}
            for row in success_rows(run)
        },
        **{f"{row['level']}: hypotheses verified": row | {"rate": row["verified"]} for row in verification_rows(run)},
        **{f"skill {row['name']}": row | {"rate": row["success_rate"]} for row in cluster_rows(run)},
    }


def settings_apart(data: RunData, other_run: RunData) -> list[tuple[str, str, str]]:
    """The settings in which two runs differ, by their dotted keys: as they are here and there."""
    changes = differences(data.description["config"], other_run.description["config"])
    return [
        (key, "–" if here is None else str(here), "–" if there is None else str(there)) for key, here, there in changes
    ]


def causes(rows: Iterable[Row], *, most: int = 8) -> list[tuple[str, int]]:
    """The commonest causes of failure and how often each came."""
    return Counter(text(row, "cause") for row in rows if text(row, "cause")).most_common(most)


def by_level(rows: Sequence[Row]) -> tuple[list[str], list[tuple[str, list[float | None]]]]:
    """The levels, and a line for each agent: its name and its rates on them."""
    levels = list(dict.fromkeys(text(row, "level") for row in rows))
    rates = {(text(row, "agent"), text(row, "level")): number(row, "success_rate") for row in rows}
    agents = dict.fromkeys(agent for agent, _ in rates)
    return levels, [(agent, [rates.get((agent, level)) for level in levels]) for agent in agents]


def curves(data: RunData) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Skill -> curve by name -> (environment steps, success in [0, 1]); the rounds of a skill follow one another."""
    units: dict[str, list[tuple[float, Row]]] = {}
    for row in data.metrics:
        if (steps := number(row, "environment_steps")) is not None:
            units.setdefault(text(row, "unit"), []).append((steps, row))
    by_skill: dict[str, dict[str, list[tuple[float, float]]]] = {}
    began: Counter[str] = Counter()
    for unit, rows in units.items():
        skill = text(rows[0][1], "skill") or unit
        lines = by_skill.setdefault(skill, {name: [] for name in CURVES})
        for steps, row in sorted(rows, key=lambda pair: pair[0]):
            for name, key in CURVES.items():
                rate = number(row, key)
                # Before the first step nothing was practised: a success of 0 there would be false.
                if rate is not None and (steps or name != "training"):
                    lines[name].append((began[skill] + steps, rate))
        began[skill] += int(max(steps for steps, _ in rows))
    return by_skill


CURVES = {"training": "train_success", "validation": "validation_success"}


def calls(data: RunData) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """The calls of our agent's programs: a row for each skill, and the commonest reasons of refusals."""
    all_calls = [
        call
        for row in data.episodes
        if text(row, "agent") == OURS
        for interaction in rows_of(row, "trace")
        for call in rows_of(interaction, "calls")
    ]
    names = Counter(text(call, "name") for call in all_calls)
    refusal_counts = Counter(text(call, "name") for call in all_calls if call.get("refused") is True)
    failure_counts = Counter(
        text(call, "name") for call in all_calls if not (call.get("refused") or call.get("success"))
    )
    rows = [
        {"skill": name, "calls": count, "failed": failure_counts[name], "refused": refusal_counts[name]}
        for name, count in names.most_common()
    ]
    reasons = Counter(
        str(verdict[2])
        for call in all_calls
        if call.get("refused") is True
        for verdict in value_of(call, "verdicts", list)
        if isinstance(verdict, list) and len(verdict) > 2 and verdict[1] is False
    )
    return rows, reasons.most_common(8)


def cluster_rows(data: RunData) -> list[dict[str, Any]]:
    """The clusters, each with its API names, and its skill's validation success (the last round's) with an interval."""
    best = {text(row, "name"): row.get("best") for row in data.skills}
    steps: Counter[str] = Counter()
    for row in data.skills:
        steps[text(row, "name")] += int(number(row, "environment_steps") or 0)
    names = [(cluster, text(cluster, "name")) for cluster in rows_of(data.induction, "clusters")]
    return [_cluster_row(cluster, best.get(name), steps=steps[name]) for cluster, name in names]


def _cluster_row(cluster: Row, best: object, *, steps: int) -> dict[str, Any]:
    names, members = cluster.get("api_names"), cluster.get("members")
    rate, low, high = number(cluster, "success_rate"), number(cluster, "low"), number(cluster, "high")
    if rate is None and isinstance(best, Mapping):
        rate, episodes = number(best, "validation_success"), number(best, "episodes")
        if rate is not None and episodes is not None and 0 <= rate <= 1 and 0 < episodes < 1e9:
            interval = wilson_interval(round(rate * episodes), round(episodes))
            low, high = interval.low, interval.high
    return {
        "name": text(cluster, "name"),
        "api_names": ", ".join(map(str, names)) if isinstance(names, list | Mapping) else "",
        "members": len(members) if isinstance(members, list) else number(cluster, "members"),
        "success_rate": rate,
        "low": low,
        "high": high,
        "steps": steps or None,
    }


def calinski_scores(data: RunData) -> list[tuple[int, float]]:
    """(k, Calinski-Harabasz score) for every k that has one."""
    scores = value_of(data.induction, "scores", dict)
    pairs = [(int(k), number(scores, k)) for k in scores if str(k).isdecimal() and len(str(k)) < 6]
    return sorted((k, score) for k, score in pairs if score is not None)


def points_of(cluster: Row) -> list[tuple[float, float]]:
    """The cluster's members in the plane."""
    pairs = [pair for pair in value_of(cluster, "points", list) if isinstance(pair, list) and len(pair) == 2]
    points = [(number({"x": x}, "x"), number({"y": y}, "y")) for x, y in pairs]
    return [(x, y) for x, y in points if x is not None and y is not None]


def chosen_episodes(data: RunData) -> list[Row]:
    """One episode a level to look at: our agent's first success, else its first failure, else another agent's."""
    return _first_of_levels(data.episodes, lambda row: (text(row, "agent") != OURS, row.get("success") is not True))


def failures(data: RunData, *, most: int = 12) -> list[Row]:
    """The first failures of our agent, at most three a level."""
    counts: Counter[str] = Counter()
    rows = []
    for row in data.episodes:
        if text(row, "agent") == OURS and row.get("success") is not True and counts[text(row, "level")] < 3:
            counts[text(row, "level")] += 1
            rows.append(row)
    return rows[:most]


def examples(data: RunData) -> list[Row]:
    """One verified hypothesis a level, the one with the most subgoals."""
    verified = [row for row in data.verifications if row.get("verified") is True]
    return _first_of_levels(verified, lambda row: -len(rows_of(row, "subgoals")))


def _first_of_levels(rows: Sequence[Row], rank: Callable[[Row], Any]) -> list[Row]:
    """Of each level the row with the lowest rank."""
    best = {text(row, "level"): row for row in sorted(rows, key=rank)[::-1]}
    return [best[level] for level in dict.fromkeys(text(row, "level") for row in rows)]
