"""The rule-based planner as a provider, and the same with mistakes, to exercise repair and debugging."""

from __future__ import annotations

from sdg.llm.babylang.model import BabyLang
from sdg.llm.faulty import Faulty
from sdg.llm.provider import Provider

BABYLANG = Provider(lambda settings: BabyLang(), rule_based=True)
FAULTY = Provider(
    lambda settings: Faulty(BabyLang(), rate=settings.fault_rate or 0.5, seed=settings.fault_seed), rule_based=True
)
