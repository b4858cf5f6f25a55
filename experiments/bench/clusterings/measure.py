"""How well embeddings find the true kinds of subgoals: adjusted Rand index, chosen k and stability.

python -m sdg.experiments.bench.clusterings.measure            # offline representations
python -m sdg.experiments.bench.clusterings.measure --text minilm-api minilm    # needs the optional extra

Sources are the sets of `experiments/bench/clusterings/corpus.py` (the default was chosen on "tuning", "held out" and
"both"; "fresh" was written afterwards, its figures are those to believe) and what the rule-based stand-in makes of real
instructions.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sdg.experiments.bench.clusterings.corpus import COARSE, Corpus, Half, draw
from sdg.experiments.table.formats import Cell, json_lines, markdown
from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, representation
from sdg.skills.clustering.kmeans import adjusted_rand, cluster
from sdg.skills.clustering.review import review

SOURCES = ("tuning", "held out", "both", "fresh", "stand-in")
OFFLINE = tuple(name for name in REPRESENTATIONS if "minilm" not in name)
LEVELS = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open")

_COLUMNS: Mapping[str, Cell] = {
    "source": lambda row: str(row["source"]),
    "subgoals": lambda row: str(row["items"]),
    "representation": lambda row: str(row["text"]),
    "texts": lambda row: f"{row['texts']:.0f}",
    "true k": lambda row: f"{row['true_k']:.1f}",
    "k by CH": lambda row: f"{row['k']:.1f}",
    "ARI": lambda row: f"{row['ari']:.2f}",
    "ARI, doors as things": lambda row: f"{row['ari_coarse']:.2f}",
    "restarts": lambda row: f"{row['stability']:.2f}",
    "resamples": lambda row: f"{row['resample_stability']:.2f}",
    "k reviewed": lambda row: f"{row['reviewed_k']:.1f}",
    "ARI reviewed": lambda row: f"{row['reviewed_ari']:.2f}",
    "rejected": lambda row: f"{row['rejected']:.1f}",
}


def rows(
    *,
    seed: int = 0,
    repeats: int = 3,
    sizes: Sequence[int] = (60, 200),
    texts: Sequence[str] = OFFLINE,
    sources: Sequence[str] = SOURCES,
) -> Iterator[dict[str, Any]]:
    """A row for each source, size and representation: means over `repeats` corpora of consecutive seeds."""
    for source in sources:
        for n_items in sizes:
            corpora = [_corpus(source, n_items=n_items, seed=seed + repeat) for repeat in range(repeats)]
            for text in texts:
                measured = [_measure(corpus, text, seed=seed) for corpus in corpora]
                means = {key: statistics.fmean(row[key] for row in measured) for key in measured[0]}
                yield {"source": source, "items": n_items, "text": text, "repeats": repeats, "seed": seed, **means}


def _measure(corpus: Corpus, text: str, *, seed: int) -> dict[str, float]:
    found = cluster(corpus.items, seed=seed, parts=representation(text), kinds=corpus.kinds)
    reviewed = review(corpus.items, found.labels)
    return {
        "texts": found.n_texts,
        "true_k": len(set(corpus.kinds)),
        "k": found.k,
        "ari": found.adjusted_rand or 0.0,
        "ari_coarse": adjusted_rand(corpus.coarse, found.labels),
        "stability": found.stability,
        "resample_stability": found.resample_stability,
        "reviewed_k": reviewed.k,
        "reviewed_ari": adjusted_rand(corpus.kinds, reviewed.labels),
        "rejected": reviewed.labels.count(-1),
    }


def _corpus(source: str, *, n_items: int, seed: int) -> Corpus:
    if source == "stand-in":
        return stand_in_corpus(n_items=n_items, seed=seed)
    return draw(cast(Half, source), n_items=n_items, seed=seed)


def stand_in_corpus(*, n_items: int, seed: int, levels: Sequence[str] = LEVELS) -> Corpus:
    """Subgoals that the rule-based stand-in hypothesises for grounding instructions, with kinds as it means them."""
    from sdg.envs.babyai.domain import BABYAI
    from sdg.envs.babyai.levels import instructions
    from sdg.hypothesis.hypothesize import hypothesize
    from sdg.induction.translate import translate
    from sdg.llm.babylang.model import BabyLang
    from sdg.llm.model import Sampling

    model = BabyLang()
    asked = [i for level in levels for i in instructions(level, split="grounding", count=n_items // 4 + 1, seed=seed)]
    asked = [asked[n] for order in range(n_items // 4 + 1) for n in range(order, len(asked), n_items // 4 + 1)]
    subgoals = [
        subgoal
        for number, one in enumerate(asked)
        for subgoal in hypothesize(
            one.text, model=model, domain=BABYAI, sampling=Sampling(seed=1000 * seed + number)
        ).subgoals
    ][:n_items]
    calls = translate([subgoal.description for subgoal in subgoals], model=model, domain=BABYAI)
    items = tuple(ClusterItem(call, subgoal) for call, subgoal in zip(calls, subgoals, strict=True))
    return Corpus(items, tuple(kind_of_stand_in(item) for item in items))


def kind_of_stand_in(item: ClusterItem) -> str:
    """What the rule-based stand-in means by a subgoal: its true kind, for scoring a clustering and nothing else."""
    from sdg.llm.babylang.phrases import meaning

    kind = {"goto": "go next to", "unlock": "open"}.get(word := meaning(item.subgoal.description).kind, word)
    of_doors = {thing: of_door for of_door, thing in COARSE.items()}
    return of_doors.get(kind, kind) if item.call.argument.endswith("door") else kind


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows as a table, or as JSON lines with --json."""
    parser = argparse.ArgumentParser(prog="python -m sdg.experiments.bench.clusterings.measure", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 200])
    parser.add_argument("--text", nargs="+", default=OFFLINE, choices=tuple(REPRESENTATIONS))
    parser.add_argument("--source", nargs="+", default=SOURCES, choices=SOURCES)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    table = rows(seed=chosen.seed, repeats=chosen.repeats, sizes=chosen.sizes, texts=chosen.text, sources=chosen.source)
    if chosen.json:
        for row in table:
            print(json_lines([row]), end="", flush=True)
    else:
        print("measuring; a row for each source, size and representation", file=sys.stderr)
        print(markdown(list(table), _COLUMNS))


if __name__ == "__main__":
    main()
