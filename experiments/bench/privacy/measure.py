"""The security protector's figures (ResponsibleTA, section 3), none of which asks a language model.

    sdg bench privacy [--count 500] [--seed 0] [--json]

Rows of `masking`: of the characters of sensitive values in `n` instructions the share that is hidden (`masked`), of
all others the share that is (`over_masked`), and of the values those that are hidden whole. `development` is what
rules were made from and the tagger learned from, and so are `paraphrased in development` and the third set. The others
are by hands that had seen neither rules nor sets, the same 500 instructions each at every seed: the held-out figures.
Rows of `leaks`: a path, and how many of the canary values sent through a task were found in it; rows of
`placeholders`: forms filled in by a rule-based stand-in for a model, which is no figure of an agent, with and without
placeholders.
"""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sdg.experiments.bench import options
from sdg.experiments.bench.privacy import development, forms, held_out, leaks
from sdg.experiments.bench.privacy.filling import Instruction, measure
from sdg.experiments.cli.errors import CheckFailed, UserError
from sdg.gate.privacy.memory import Memory
from sdg.gate.privacy.protector import Protected, Protector
from sdg.gate.privacy.recognisers import PrivacyError, Recogniser, Span, find, recognisers_of
from sdg.llm.adapter import as_model
from sdg.llm.model import LanguageModel
from sdg.skills.statistics import wilson_interval

FIELDS: dict[str, str] = {
    "full name": "name",
    "e-mail": "email",
    "password": "password",
    "phone number": "phone",
    "delivery address": "address",
    "birth date": "dob",
}
PLAIN = {"size": ("S", "M", "L"), "color": ("red", "black"), "quantity": ("1", "2", "12"), "gift wrap": ("yes", "no")}


def rows(
    *, count: Annotated[int, typer.Option(min=1, help="instructions of each set")] = 500, seed: options.Seed = 0
) -> Iterator[Mapping[str, Any]]:
    """Rows of masking, of leaks and of placeholders. Raises CheckFailed at the end where a canary leaked."""
    try:
        recognisers = recognisers_of()
        yield from masking(recognisers, count=count, seed=seed)
    except (PrivacyError, ImportError) as error:
        raise UserError(f"{error} (the held-out set needs faker: pip install 'sdg[dev]')") from None
    with tempfile.TemporaryDirectory() as folder:
        found = [{"world": "text", "guard": "privacy", "what": "leaks", **row} for row in leaks.rows(Path(folder))]
    yield from found
    yield from placeholders(recognisers, tasks=60, seed=seed)
    if leaked := sum(row["leaks"] for row in found):
        raise CheckFailed(f"{leaked} canaries leaked")


def masking(recognisers: tuple[Recogniser, ...], *, count: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """A row a set."""
    sets: dict[str, Callable[[int, int], list[Instruction]]] = {
        "development": development.instructions,
        "paraphrased in development": held_out.instructions,
        "the same, names of the gazetteer as well": partial(held_out.instructions, known=True),
        "another hand's": partial(by_hand, "another_hand"),
        "a further hand's": partial(by_hand, "further_hand"),
    }
    for name, make in sets.items():
        counted, _ = measure(make(count, seed), lambda text: find(text, recognisers))
        interval = wilson_interval(counted.whole, counted.values)
        yield {
            "world": "text",
            "guard": "privacy",
            "kind": "learned",
            "what": "masking",
            "set": name,
            "masked": round(counted.hidden / counted.sensitive, 4),
            "over_masked": round(counted.hidden_others / counted.others, 4),
            "whole_values": round(interval.value, 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
            "n": count,
            "values": counted.values,
        }


def by_hand(name: str, count: int, seed: int) -> list[Instruction]:
    """The first instructions of a kept set; the seed changes nothing."""
    lines = gzip.decompress((Path(__file__).parent / f"{name}.jsonl.gz").read_bytes()).splitlines()[:count]
    rows = [json.loads(line) for line in lines]
    return [Instruction(row["text"], tuple(Span(*value) for value in row["values"])) for row in rows]


def placeholders(recognisers: tuple[Recogniser, ...], *, tasks: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """The same forms without and with placeholders."""
    rng = random.Random(seed)
    makers = development.values(rng)
    wanted = [form_of(rng, makers) for _ in range(tasks)]
    for protect in (False, True):
        solved, steps = 0, 0
        for values in wanted:
            protector = Protector(recognisers, Memory()) if protect else None
            form = forms.Form(values)
            model: LanguageModel = as_model(forms.Coordinator())
            asked = forms.instruction_for(values)
            if protector:
                asked, model = protector.admit(asked), Protected(model, protector.mask)
            solved += forms.play(asked, form, model, body=forms.protected(form, protector))
            steps += form.steps
        yield {
            "world": "forms (a fake)",
            "guard": "privacy",
            "what": "placeholders",
            "placeholders": protect,
            "success": solved / tasks,
            "steps": steps / tasks,
            "n": tasks,
        }


def form_of(rng: random.Random, makers: Mapping[str, Any]) -> dict[str, str]:
    """Fields of a form and what goes into them: three that are sensitive, two that aren't."""
    fields = rng.sample(sorted(FIELDS), 3)
    plain = rng.sample(sorted(PLAIN), 2)
    return {name: makers[FIELDS[name]]() for name in fields} | {name: rng.choice(PLAIN[name]) for name in plain}
