"""BabyAI's levels by name, and their instructions by seed."""

import difflib

from sdg.errors import UserError

PAPER_LEVELS: tuple[str, ...] = ("GoToLocal", "PickupLoc", "PutNextLocal", "Open", "SynthSeq", "BossLevel")
"""The six levels of SDG's table 1, in its order."""


ENGLISH, BY_HAND = ":english", ":by-hand"
"""Behind a level's name: the same level, its missions in free English (`sdg.envs.babyai.language`), by templates or in
the words of a person."""


_NAMES = """
ActionObjDoor-v0 BlockedUnlockPickup-v0 BossLevel-v0 BossLevelNoUnlock-v0 FindObjS5-v0 FindObjS6-v0 FindObjS7-v0
GoTo-v0 GoToDoor-v0 GoToImpUnlock-v0 GoToLocal-v0 GoToLocalS5N2-v0 GoToLocalS6N2-v0 GoToLocalS6N3-v0
GoToLocalS6N4-v0 GoToLocalS7N4-v0 GoToLocalS7N5-v0 GoToLocalS8N2-v0 GoToLocalS8N3-v0 GoToLocalS8N4-v0
GoToLocalS8N5-v0 GoToLocalS8N6-v0 GoToLocalS8N7-v0 GoToObj-v0 GoToObjDoor-v0 GoToObjMaze-v0 GoToObjMazeOpen-v0
GoToObjMazeS4-v0 GoToObjMazeS4R2-v0 GoToObjMazeS5-v0 GoToObjMazeS6-v0 GoToObjMazeS7-v0 GoToObjS4-v0 GoToObjS6-v1
GoToOpen-v0 GoToRedBall-v0 GoToRedBallGrey-v0 GoToRedBallNoDists-v0 GoToRedBlueBall-v0 GoToSeq-v0 GoToSeqS5R2-v0
KeyCorridor-v0 KeyCorridorS3R1-v0 KeyCorridorS3R2-v0 KeyCorridorS3R3-v0 KeyCorridorS4R3-v0 KeyCorridorS5R3-v0
KeyCorridorS6R3-v0 KeyInBox-v0 MiniBossLevel-v0 MoveTwoAcrossS5N2-v0 MoveTwoAcrossS8N9-v0 OneRoomS12-v0
OneRoomS16-v0 OneRoomS20-v0 OneRoomS8-v0 Open-v0 OpenDoor-v0 OpenDoorColor-v0 OpenDoorDebug-v0 OpenDoorLoc-v0
OpenDoorsOrderN2-v0 OpenDoorsOrderN2Debug-v0 OpenDoorsOrderN4-v0 OpenDoorsOrderN4Debug-v0 OpenRedBlueDoors-v0
OpenRedBlueDoorsDebug-v0 OpenRedDoor-v0 OpenTwoDoors-v0 Pickup-v0 PickupAbove-v0 PickupDist-v0 PickupDistDebug-v0
PickupLoc-v0 PutNextLocal-v0 PutNextLocalS5N3-v0 PutNextLocalS6N4-v0 PutNextS4N1-v0 PutNextS5N1-v0 PutNextS5N2-v0
PutNextS5N2Carrying-v0 PutNextS6N3-v0 PutNextS6N3Carrying-v0 PutNextS7N4-v0 PutNextS7N4Carrying-v0 Synth-v0
SynthLoc-v0 SynthS5R2-v0 SynthSeq-v0 UnblockPickup-v0 Unlock-v0 UnlockLocal-v0 UnlockLocalDist-v0 UnlockPickup-v0
UnlockPickupDist-v0 UnlockToUnlock-v0
"""
IDS: tuple[str, ...] = tuple(_NAMES.split())
"""Without importing minigrid, which takes a second."""
_IDS = {name.removesuffix("-v0"): f"BabyAI-{name}" for name in IDS}


def all_levels() -> tuple[str, ...]:
    """Every BabyAI level of minigrid in short form ("GoToLocal" for "BabyAI-GoToLocal-v0"), sorted."""
    return tuple(_IDS)


def level_name(name: str) -> str:
    """The short form of a level's name or id. UserError with close matches when there is no such level."""
    text = name.strip() if isinstance(name, str) else ""
    grid_name = _without_wording(text)
    short = grid_name.removeprefix("BabyAI-").removesuffix("-v0")
    if short in _IDS:
        return short + text.removeprefix(grid_name)
    close = difflib.get_close_matches(short, all_levels(), n=4, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else "levels have names such as GoToLocal or BossLevel."
    raise UserError(f"there is no BabyAI level {name!r}; {hint}")


def gym_id(name: str) -> str:
    """The id under which minigrid registers a level. ValueError when there is no such level."""
    return _IDS[_without_wording(level_name(name))]


def _without_wording(name: str) -> str:
    return name.removesuffix(ENGLISH).removesuffix(BY_HAND)
