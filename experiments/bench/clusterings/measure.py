"""How well embeddings find the true kinds of subgoals: adjusted Rand index, chosen k and stability.

    sdg bench clusterings                                  offline representations
    sdg bench clusterings --texts minilm-api,minilm        needs the optional extra

Sources are the sets of `experiments/bench/clusterings/corpus.py` (the default was chosen on "tuning", "held out" and
"both"; "fresh" was written afterwards, its figures are those to believe) and what the rule-based stand-in makes of real
instructions.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import typer

from sdg.experiments.bench import options
from sdg.experiments.bench.clusterings.corpus import COARSE, Corpus, Half, draw
from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, representation
from sdg.skills.clustering.kmeans import adjusted_rand, cluster
from sdg.skills.clustering.review import review

SOURCES = ("tuning", "held out", "both", "fresh", "stand-in")
OFFLINE = tuple(name for name in REPRESENTATIONS if "minilm" not in name)
LEVELS = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open")


def rows(
    *,
    seed: options.Seed = 0,
    repeats: Annotated[int, typer.Option(min=1, help="corpora of consecutive seeds")] = 3,
    sizes: Annotated[Sequence[int], options.listed("subgoals of a corpus", parser=options.numbers)] = (60, 200),
    texts: Annotated[Sequence[str], options.listed("what of a subgoal is embedded")] = OFFLINE,
    sources: Annotated[Sequence[str], options.listed("corpora")] = SOURCES,
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
