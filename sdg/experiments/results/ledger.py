"""Which seeds of evaluation sets were used, and for what: `sdg/experiments/seeds.toml`."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources

from sdg.errors import UserError


def seeds_by_purpose(status: str) -> Mapping[str, list[int]]:
    """Purpose of sets -> their seeds; a status is "development", "published" or "screens"."""
    text = resources.files("sdg.experiments").joinpath("seeds.toml").read_text("utf-8")
    purposes: Mapping[str, list[int]] = tomllib.loads(text)[status]
    return purposes


def used_seeds(status: str) -> Mapping[int, str]:
    """Seed -> its purposes, joined if it is listed more than once."""
    by_purpose = seeds_by_purpose(status)
    return {
        seed: "; ".join(purpose for purpose, seeds in by_purpose.items() if seed in seeds)
        for listed in by_purpose.values()
        for seed in listed
    }


def seed_set(seed: int, *, allow_dev_seeds: bool) -> str:
    """How a row names the instructions that it was measured on.

    Raises UserError for a set that was used in development, unless `allow_dev_seeds` says that nothing is published.
    """
    purpose = used_seeds("development").get(seed)
    if purpose is None:
        return f"evaluation/{seed}"
    if not allow_dev_seeds:
        raise UserError(
            f"seed {seed} was used in development ({purpose}), so its figures prove nothing: name a fresh --seed, "
            "or add --allow-dev-seeds for figures that aren't published"
        )
    return f"evaluation/{seed} (development)"


def markdown() -> Iterator[str]:
    """The ledger as a page of the documentation, line by line."""
    yield from ("# Seeds", "", "| seeds | used for | status |", "|---|---|---|")
    for status in ("development", "published", "screens"):
        for purpose, seeds in seeds_by_purpose(status).items():
            yield f"| {', '.join(map(str, sorted(seeds)))} | {purpose} | {status} |"


if __name__ == "__main__":
    print("\n".join(markdown()))
