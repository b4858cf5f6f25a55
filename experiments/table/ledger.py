"""Which sets of evaluation seeds were looked at to decide something: they publish nothing more (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Mapping

from sdg.experiments.cli.errors import UserError

BURNT: Mapping[int, str] = {
    0: "development of everything",
    5: "tables of before 22 November 2026",
    41: "Table 1 of 22 November 2026",
    90: "the skills' own figures",
    92: "Table 1 of 22 November 2026, of the library with new names",
    97: "a threshold of the learned guard",
    111: "a threshold of the learned guard",
    777: "development",
    888: "development",
    7001: "the planner of 23 November 2026",
    7002: "a threshold of the learned guard",
}
"""User seed -> what it was looked at for; the ledger in docs/decisions.md says when."""


def seed_set(seed: int, *, burnt: bool) -> str:
    """What a row says of the instructions that it was measured on. Raises UserError for a burnt set, unless `burnt`
    says that the figures aren't for publication."""
    if seed not in BURNT:
        return f"evaluation/{seed}"
    if not burnt:
        raise UserError(
            f"seed {seed} was looked at for {BURNT[seed]}, so its figures prove nothing: name a fresh --seed, "
            "or say --burnt for figures that aren't published"
        )
    return f"evaluation/{seed} (burnt)"


__all__ = ["BURNT", "seed_set"]
