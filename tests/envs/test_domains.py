"""Domains by name, and what travels to worker processes: by reference where it is a domain's, by value where not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sdg.envs.babyai.domain import BABYAI
from sdg.envs.babyai.practice.inputs import MAP_INPUTS
from sdg.envs.defaults import NamedThings
from sdg.envs.domains import DEFAULT, DOMAINS, domain, domain_of_data
from sdg.envs.registry import RegistryError
from sdg.skills.practice.starts import Starts
from sdg.skills.subgoal import CheckFunction
from tests.shared.library_samples import random_bits

ROOT = Path(__file__).resolve().parents[2]
FACING = CheckFunction("check", "def check():\n    return get_facing() is not None\n")


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_a_domain_is_found_by_its_name(name: str) -> None:
    assert domain(name).name == name
    assert domain_of_data(name) is domain(name)
    assert domain(DOMAINS.entries[name]) is domain(name)
    assert DEFAULT in DOMAINS


@pytest.mark.parametrize("thing", [BABYAI, MAP_INPUTS], ids=["domain", "inputs"])
def test_a_domain_and_its_inputs_travel_by_reference(thing: object) -> None:
    sent = pickle.dumps(thing)
    assert pickle.loads(sent) is thing
    assert len(sent) < 100


def test_starts_travel_as_arrays_and_a_name() -> None:
    layouts = BABYAI.layouts("GoToLocal", range(3))
    rows = BABYAI.begin(layouts, np.arange(3))
    starts = Starts(rows, np.tile(BABYAI.language.row("red ball"), (3, 1)), (FACING,), np.zeros(3, np.int64))
    there = pickle.loads(pickle.dumps(starts))
    assert there.domain is BABYAI
    assert there.checks == starts.checks
    assert np.array_equal(there.targets, starts.targets)
    for actions in np.random.default_rng(0).integers(0, 6, (20, 3)):
        assert all(map(np.array_equal, there.rows.step(actions), starts.rows.step(actions)))
    assert (there.rows.state == starts.rows.state).all()
    assert all(map(np.array_equal, there.memory, starts.memory))


def test_a_policy_takes_its_inputs_along_by_reference() -> None:
    policy = random_bits(MAP_INPUTS, np.random.default_rng(0))
    there = pickle.loads(pickle.dumps(policy))
    assert there.inputs is MAP_INPUTS
    assert all(np.array_equal(there.weights[name], array) for name, array in policy.weights.items())


def test_another_process_finds_the_same_domain(tmp_path: Path) -> None:
    (tmp_path / "sent").write_bytes(pickle.dumps((BABYAI, MAP_INPUTS)))
    code = (
        "import pickle, sys; from pathlib import Path\n"
        "domain, inputs = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "from sdg.envs.domains import domain as found\n"
        "assert found('babyai') is domain and domain.inputs is inputs\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "sent"], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", ["", "gridworld", "os:environ", "antigravity:x", "stranger:WORLD"])
def test_a_file_can_not_have_anything_imported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stranger.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RegistryError, match="name it yourself first"):
        domain_of_data(name)
    assert "stranger" not in sys.modules
    assert "antigravity" not in sys.modules


def test_what_the_user_has_named_a_file_may_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that was made for a domain of the user's own is read where the user names that domain."""
    address = "sdg.envs.babyai.domain:BABYAI"
    monkeypatch.setattr(DOMAINS, "named", set())
    domain.cache_clear()
    with pytest.raises(RegistryError, match="name it yourself first"):
        domain_of_data(address)
    assert domain(address) is BABYAI
    assert domain_of_data(address) is BABYAI


def test_a_name_that_was_refused_stays_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DOMAINS, "named", set())
    with pytest.raises(RegistryError):
        domain("fractions:Fraction")
    with pytest.raises(RegistryError, match="name it yourself first"):
        domain_of_data("fractions:Fraction")


@pytest.mark.parametrize("name", ["ant", "table"])
def test_a_world_whose_physics_are_missing_names_the_extra(name: str) -> None:
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "from sdg.envs.domains import domain\n"
        f"try: domain({name!r})\n"
        "except ValueError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "it needs the package 'mujoco', which isn't installed: pip install 'sdg[mujoco]'" in printed


def test_names_of_things_are_found_in_any_case_and_the_longest_first() -> None:
    things = NamedThings(["Box", "box lid", "key"])
    assert [things.parse(text) for text in ("the box", "Box", "a Box Lid", "KEY")] == [0, 0, 1, 2]
    assert things.mentions("Put the box lid on the BOX, key or not") == ["box lid", "Box", "key"]
