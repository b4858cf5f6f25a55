"""How well embeddings find the true kinds of subgoals: adjusted Rand index, chosen k and stability.

    sdg bench clustering [--json]                         offline representations
    sdg bench clustering --texts minilm-api,minilm        needs the optional extra

Sources are the sets of `experiments/bench/clusterings/corpus.py` (the default was chosen on "tuning", "held out" and
"both"; "fresh" was written afterwards, its figures are those to believe) and what the rule-based stand-in makes of real
instructions. "recorded" is what a real model wrote, hypotheses and translations, with kinds given by hand (one corpus,
whole, whatever the size). `random` gives each name one of as many labels as there are kinds, so that what the review
alone does is seen: what `reviewed_ari` has beyond it is k-means'. `agreement` is the adjusted Rand index between labels
before and after the review, which a run can know.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import numpy as np
import typer

from sdg.experiments.bench import options
from sdg.experiments.bench.clusterings.corpus import COARSE, Corpus, Half, draw
from sdg.experiments.bench.clusterings.recorded import RECORDED, kind_of_recorded
from sdg.skills.clustering.embedding import REPRESENTATIONS, ClusterItem, representation
from sdg.skills.clustering.kmeans import adjusted_rand, cluster
from sdg.skills.clustering.review import review

SOURCES = ("tuning", "held out", "both", "fresh", "stand-in", "recorded")
RANDOM = "random"
OFFLINE = (*(name for name in REPRESENTATIONS if "minilm" not in name), RANDOM)
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
        for n_items in sizes[:1] if source == "recorded" else sizes:
            corpora = [_corpus(source, n_items=n_items, seed=seed + repeat) for repeat in range(repeats)]
            for text in texts:
                measured = [_measure(corpus, text, seed=seed) for corpus in corpora]
                means = {key: statistics.fmean(row[key] for row in measured) for key in measured[0]}
                shown = {"source": source, "items": len(corpora[0].items), "text": text}
                yield shown | {"repeats": repeats, "seed": seed} | means


def _measure(corpus: Corpus, text: str, *, seed: int) -> dict[str, float]:
    if text == RANDOM:
        return _by_chance(corpus, seed=seed)
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
        "agreement": adjusted_rand(found.labels, reviewed.labels),
    }


def _by_chance(corpus: Corpus, *, seed: int) -> dict[str, float]:
    """What the review makes of labels that are drawn name by name."""
    names, many = sorted({item.call.api for item in corpus.items}), len(set(corpus.kinds))
    drawn = dict(zip(names, np.random.default_rng(seed).integers(many, size=len(names)).tolist(), strict=True))
    labels = [drawn[item.call.api] for item in corpus.items]
    reviewed = review(corpus.items, labels)
    return {
        "texts": len(names),
        "true_k": many,
        "k": len(set(labels)),
        "ari": adjusted_rand(corpus.kinds, labels),
        "ari_coarse": adjusted_rand(corpus.coarse, labels),
        "stability": 0.0,
        "resample_stability": 0.0,
        "reviewed_k": reviewed.k,
        "reviewed_ari": adjusted_rand(corpus.kinds, reviewed.labels),
        "rejected": reviewed.labels.count(-1),
        "agreement": adjusted_rand(labels, reviewed.labels),
    }


def _corpus(source: str, *, n_items: int, seed: int) -> Corpus:
    if source == "recorded":
        return recorded_corpus()
    if source == "stand-in":
        return stand_in_corpus(n_items=n_items, seed=seed)
    return draw(cast(Half, source), n_items=n_items, seed=seed)


def recorded_corpus() -> Corpus:
    """Every subgoal that a real model hypothesised, with its own translations, and kinds given by hand."""
    from sdg.hypothesis.hypothesize import parse

    calls = RECORDED.translations()
    replies = (*RECORDED.replies.items(), *RECORDED.content["second_hypotheses"].items())
    subgoals = [goal for mission, reply in replies for goal in parse(reply, instruction=mission).subgoals]
    items = tuple(ClusterItem(calls[goal.description], goal) for goal in subgoals if goal.description in calls)
    return Corpus(items, tuple(kind_of_recorded(item.subgoal.description) for item in items))


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
