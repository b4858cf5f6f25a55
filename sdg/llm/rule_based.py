"""The rule-based planner as a provider: babylang itself reads prompts and knows nothing of settings."""

from sdg.llm.babylang.model import BabyLang
from sdg.llm.provider import Provider

BABYLANG = Provider(lambda settings: BabyLang(), rule_based=True)
