"""What an effect on a screen says about each element: was it the one that was acted on?

A row of numbers for each element of the screen before, from both screenshots and their parsed elements: what changed in
its box and around it, its states and words then and now, what came, went and moved, and how it stands out among its
like. A last row stands for none of them: nothing was hit.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from sdg.envs.box import Box
from sdg.envs.ui.captions import KINDS, alike, caption_of, likeness
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.parser.screen import ScreenElement

MIN_DIFFERENCE = 24
"""Difference of a colour value, of 255, from which a pixel counts as changed."""
MARGIN = 4
"""Pixels around an element that count as its own: rings of focus are drawn outside."""
MIN_OVERLAP = 0.4
"""Intersection over union from which an element is the one that lay there before."""
CELL = 4
NEAR_PIXELS = 24
"""Pixels, down, within which elements belong together."""


def changes(picture: np.ndarray, later: np.ndarray) -> np.ndarray:
    """Bool (320, 320): which pixels of two pictures, RGB u8 (320, 320, 3), are different."""
    return (np.abs(picture.astype(np.int16) - later) > MIN_DIFFERENCE).any(axis=2)


def share_changed(then: np.ndarray, now: np.ndarray, *, least: int) -> float:
    """The share of pixels of a part of two pictures, RGB u8 (h, w, 3), that differ by more than `least`; all of them
    where one picture has less of that part."""
    if then.shape != now.shape or not then.size:
        return 1.0
    return float((np.abs(then.astype(np.int16) - now) > least).any(axis=2).mean())


def effects(
    picture: np.ndarray,
    later: np.ndarray,
    before: Sequence[ScreenElement],
    after: Sequence[ScreenElement],
    typed: str | None = None,
) -> np.ndarray:
    """F32 (n + 1, k) for the n elements of the screen before, at least one, and for none of them.

    Pictures are RGB u8 (320, 320, 3); `typed` is what was to be typed, None for a press.
    """
    changed = changes(picture, later)
    boxes = np.array([element.box for element in before], np.int64)
    pairs = _Pairs(before, after)
    captions = [caption_of(element, before) for element in before]
    kinds = np.array([caption.kind for caption in captions])
    rows = np.hstack(
        [
            _pixels(changed, boxes, kinds),
            _looks(picture, later, boxes, kinds),
            _states(pairs),
            _moves(pairs, boxes),
            _words(pairs, [alike(caption.words) for caption in captions], boxes, typed),
            kinds[:, None] == np.array(KINDS),
            (boxes[:, 2:] - boxes[:, :2]) / SCREEN,
        ]
    )
    rows = np.vstack([rows, np.zeros(rows.shape[1])])
    none = np.zeros((len(rows), 1))
    none[-1] = 1
    page = [
        changed.any(),
        np.log1p(changed.sum()) / 12,
        changed.mean(),
        min(len(before) / 30, 2),
        min(len(after) / 30, 2),
        *pairs.page(),
        typed is not None,
    ]
    return np.hstack([rows, none, np.repeat([page], len(rows), axis=0)]).astype(np.float32)


def _sums(integral: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Sums over boxes of a map, by its integral image (321, 321)."""
    x0, y0, x1, y1 = np.clip(boxes, 0, SCREEN).T
    x1, y1 = np.maximum(x0, x1), np.maximum(y0, y1)
    return np.asarray(integral[y1, x1] - integral[y0, x1] - integral[y1, x0] + integral[y0, x0])


def _grown(boxes: np.ndarray, by: int) -> np.ndarray:
    return np.asarray(np.clip(boxes + np.array([-by, -by, by, by]), 0, SCREEN))


def _areas(boxes: np.ndarray) -> np.ndarray:
    return np.maximum((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), 1)


def _pixels(changed: np.ndarray, boxes: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Where pixels changed, seen from each box."""
    sums = partial(_sums, np.pad(changed.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))))
    total = max(int(changed.sum()), 1)
    x0, y0, x1, y1 = boxes.T
    zero, full = np.zeros_like(x0), np.full_like(x0, SCREEN)
    own, wide, outer = (sums(_grown(boxes, by)) for by in (0, MARGIN, 3 * MARGIN))
    areas = [_areas(_grown(boxes, by)) for by in (0, MARGIN, 3 * MARGIN)]
    share = wide / areas[1]
    middle = np.stack([(x0 + x1) // 2, (y0 + y1) // 2] * 2, axis=1)
    centre = _grown(middle, MARGIN)
    parts = [
        (zero, y0 - MARGIN, full, y1 + MARGIN), (x0, zero, x1, full),
        (x0, y1 + MARGIN, x1, full), (x0, zero, x1, y0 - MARGIN),
        (zero, y1 + MARGIN, full, full), (zero, zero, full, y0 - MARGIN),
        (x1 + MARGIN, y0, full, y1), (zero, y0, x0 - MARGIN, y1),
        (x0 - 8, y1 + MARGIN, x1 + 60, y1 + 60),
    ]  # fmt: skip
    around = [sums(np.stack(part, axis=1)) / total for part in parts]
    others = np.where(np.eye(len(share), dtype=bool), -1.0, share[None, :])
    like = np.where(kinds[:, None] == kinds[None, :], others, -1.0)
    most, most_alike = (np.maximum(shares.max(axis=1), 0) for shares in (others, like))
    ys, xs = np.nonzero(changed.reshape(SCREEN // CELL, CELL, SCREEN // CELL, CELL).any(axis=(1, 3)))
    ys, xs = ys * CELL + CELL // 2, xs * CELL + CELL // 2
    if len(ys):
        gap_x = np.maximum(np.maximum(x0[:, None] - xs, xs - x1[:, None]), 0)
        gap_y = np.maximum(np.maximum(y0[:, None] - ys, ys - y1[:, None]), 0)
        nearest = np.maximum(gap_x, gap_y).min(axis=1) / SCREEN
        away = [np.abs(xs.mean() - middle[:, 0]) / SCREEN, np.abs(ys.mean() - middle[:, 1]) / SCREEN]
        top, left = (ys.min() - y0) / SCREEN, (xs.min() - x0) / SCREEN
        bottom, right = (ys.max() - y1) / SCREEN, (xs.max() - x1) / SCREEN
    else:
        nearest = top = left = bottom = right = np.ones(len(boxes))
        away = [np.ones(len(boxes))] * 2
    return np.stack(
        [
            own / areas[0], share, wide > 0, wide / total,
            (outer - wide) / np.maximum(areas[2] - areas[1], 1), sums(centre) / _areas(centre),
            *around, nearest, *away, top, left, bottom, right, nearest == nearest.min(),
            share / max(float(share.max()), 1e-6), share >= most, share - most, share - most_alike,
            (share > most_alike) & (share > 0), np.minimum((like > 0.01).sum(axis=1) / 5, 2),
            wide / total >= (wide / total).max(),
        ],
        axis=1,
    )  # fmt: skip


def _looks(picture: np.ndarray, later: np.ndarray, boxes: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """How each element stands out among its like, then and now, and how its mean colour changed."""
    wide = _grown(boxes, MARGIN)
    old, new = _means(picture, boxes), _means(later, boxes)
    wide_old, wide_new = _means(picture, wide), _means(later, wide)
    out = []
    for looks in (old, new, wide_old, wide_new):
        odd = np.zeros(len(boxes))
        for kind in set(kinds):
            like = np.flatnonzero(kinds == kind)
            if len(like) > 1:
                odd[like] = np.abs(looks[like] - np.median(looks[like], axis=0)).sum(axis=1)
        out.append(odd)
    gained = out[1] - out[0]
    most = np.array([gained[(kinds == kind)].max() for kind in kinds])
    peers = np.array([(kinds == kind).sum() for kind in kinds])
    return np.stack(
        [
            *out, gained, out[3] - out[2], (gained >= most) & (gained > 0.01), np.minimum(peers / 10, 2),
            np.abs(new - old).sum(axis=1), (new - old).mean(axis=1), np.abs(wide_new - wide_old).sum(axis=1),
        ],
        axis=1,
    )  # fmt: skip


def _means(picture: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """The mean colour of each box, (n, 3) in [0, 1]; every other pixel is looked at."""
    parts = [picture[y0:y1:2, x0:x1:2].reshape(-1, 3) for x0, y0, x1, y1 in boxes]
    return np.array([part.mean(axis=0) / 255 if len(part) else np.zeros(3) for part in parts])


class _Pairs:
    """Elements of the screen before with those that lie in their place afterwards, and with those of their words."""

    def __init__(self, before: Sequence[ScreenElement], after: Sequence[ScreenElement]) -> None:
        self.before, self.after = before, after
        self.words = [alike(element.text) for element in before]
        self.new_words = [alike(element.text) for element in after]
        self.shares = _overlaps(before, after)
        self.now: list[ScreenElement | None] = []
        self.moved = np.full(len(before), np.nan)
        self.gone = np.zeros(len(before), bool)
        taken = set()
        known = set(self.new_words) - {""}
        new_kinds = np.array([element.kind for element in after])
        for n, old in enumerate(before):
            fits = self.shares[n] - MIN_OVERLAP - 0.2 * (new_kinds != old.kind)
            best = int(fits.argmax()) if len(fits) and fits.max() > 0 else -1
            self.now.append(after[best] if best >= 0 else None)
            if best >= 0 and (self.words[n] == self.new_words[best] or not self.words[n]):
                taken.add(best)
                continue
            same = [
                (abs(new.box[1] - old.box[1]) + abs(new.box[0] - old.box[0]), m)
                for m, new in (enumerate(after) if self.words[n] in known else ())
                if self.new_words[m] == self.words[n] and new.kind == old.kind
            ]
            if same:
                m = min(same)[1]
                taken.add(m)
                self.moved[n] = after[m].box[1] - old.box[1]
            elif best >= 0:
                taken.add(best)
            else:
                self.gone[n] = True
        self.fresh = [element for m, element in enumerate(after) if m not in taken]

    def page(self) -> list[float]:
        """Shares of elements that moved, went and came."""
        n = max(len(self.before), 1)
        return [
            float(np.isfinite(self.moved).sum()) / n,
            float(self.gone.sum()) / n,
            len(self.fresh) / max(len(self.after), 1),
            min(len(self.fresh) / 10, 2.0),
            float(any(now and now.checked != old.checked for old, now in zip(self.before, self.now, strict=True))),
            float(any(now and now.focused and not old.focused for old, now in zip(self.before, self.now, strict=True))),
            float(any(element.focused for element in self.after)),
        ]


def _overlaps(before: Sequence[ScreenElement], after: Sequence[ScreenElement]) -> np.ndarray:
    """Intersection over union of each two boxes, (n, m)."""
    shares = [[Box(*old.box).overlap(new.box) for new in after] for old in before]
    return np.array(shares, float).reshape(len(before), len(after))


def _states(pairs: _Pairs) -> np.ndarray:
    changed = [now is not None and alike(now.text) != words for now, words in zip(pairs.now, pairs.words, strict=True)]
    rows = [
        [
            now is not None, pairs.gone[n], old.checked, now is not None and now.checked,
            now is not None and now.checked != old.checked,
            now is not None and now.checked and not old.checked,
            old.focused, now is not None and now.focused, now is not None and now.focused and not old.focused,
            changed[n], now is not None and now.kind != old.kind, now is not None and now.look != old.look,
            min((sum(changed) - changed[n]) / 5, 2),
            len(now.text) > len(old.text) if now else False,
        ]
        for n, (old, now) in enumerate(zip(pairs.before, pairs.now, strict=True))
    ]  # fmt: skip
    return np.array(rows, float)


def _moves(pairs: _Pairs, boxes: np.ndarray) -> np.ndarray:
    """What came, went and moved beside, below and above each element."""
    moved = np.isfinite(pairs.moved) & (np.abs(np.nan_to_num(pairs.moved)) > 3)
    fresh = np.array([element.box for element in pairs.fresh], float).reshape(-1, 4)
    y0, y1 = boxes[:, 1].astype(float), boxes[:, 3].astype(float)
    first_moved = min(y0[moved], default=SCREEN)
    rows = []
    for n in range(len(boxes)):
        level = (np.minimum(y1, y1[n]) - np.maximum(y0, y0[n])) > 0.5 * np.minimum(y1 - y0, y1[n] - y0[n])
        level[n] = False
        below = y0 >= y1[n] - 4
        rows.append(
            [
                moved[n], np.nan_to_num(pairs.moved[n]) / SCREEN,
                (pairs.gone & level).sum() / 5, (pairs.gone & below).sum() / 10, (moved & below).sum() / 10,
                (moved & ~below).sum() / 10, (moved & level).sum() / 5,
                (first_moved - y1[n]) / SCREEN, moved.any(),
                *_fresh_around(fresh, boxes[n]),
            ]
        )  # fmt: skip
    return np.array(rows, float)


def _fresh_around(fresh: np.ndarray, box: np.ndarray) -> list[float]:
    if not len(fresh):
        return [0.0, 0.0, 1.0, 1.0, 0.0]
    x0, y0, x1, y1 = (float(value) for value in box)
    gap_x = np.maximum(np.maximum(x0 - fresh[:, 2], fresh[:, 0] - x1), 0)
    gap_y = np.maximum(np.maximum(y0 - fresh[:, 3], fresh[:, 1] - y1), 0)
    below = fresh[:, 1] >= y1 - 6
    return [
        float((below & (gap_x == 0)).mean()),
        float(below.mean()),
        float(np.maximum(gap_x, gap_y).min()) / SCREEN,
        float(np.min(np.where(below, gap_y, SCREEN))) / SCREEN,
        float((np.maximum(gap_x, gap_y) < 1).any()),
    ]


def _words(pairs: _Pairs, names: Sequence[str], boxes: np.ndarray, typed: str | None) -> np.ndarray:
    """What was to be typed in each element then and now; whether its words, and those around it, stand there later."""
    new, old = set(pairs.new_words) - {""}, set(pairs.words) - {""}
    added, later = "\n".join(sorted(new - old)), "\n".join(sorted(new))
    wanted = alike(typed or "")
    kept = np.array([_share_kept(name, later) for name in names])
    fresh = np.array([_share_kept(name, added) for name in names])
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    distances = np.abs(middles[:, None] - middles[None, :])
    near = np.exp(-distances / NEAR_PIXELS) * np.array([len(name) > 2 for name in names])
    np.fill_diagonal(near, 0)
    sums = np.maximum(near.sum(axis=1), 1e-6)
    around, around_fresh = near @ kept / sums, near @ fresh / sums
    all_kept = kept.sum() / max(sum(len(name) > 2 for name in names), 1)
    rows = [
        [
            _holds(wanted, alike(now.text) if now else ""), _holds(wanted, pairs.words[n]),
            fresh[n], kept[n], kept[n] - all_kept, fresh[n] - fresh.mean(), around[n] - all_kept, around_fresh[n],
            around_fresh[n] >= around_fresh.max() > 0, around[n] >= around.max() > 0,
            min(len(name) / 20, 2),
            sum(words == pairs.words[n] for words in pairs.words) > 1 and bool(pairs.words[n]),
        ]
        for n, (name, now) in enumerate(zip(names, pairs.now, strict=True))
    ]  # fmt: skip
    return np.array(rows, float)


def _share_kept(words: str, later: str) -> float:
    """Whether words stand in a text, or at least how they begin: on many screens they are cut off."""
    if len(words) < 3:
        return 0.0
    if words in later:
        return 1.0
    return 0.7 if len(words) > 8 and words[: len(words) * 2 // 3] in later else 0.0


def _holds(asked: str, text: str) -> float:
    return 0.0 if not asked else 1.0 if asked in text else likeness(asked, text)
