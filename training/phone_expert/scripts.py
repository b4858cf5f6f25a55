"""The expert's way through each task, and how to walk it on the screen: by words on elements, scrolling where needed.

A step is a text to tap, `~text` to press long, `label=value` to tap a field and type, `^` for Enter, `<` for Back,
`*2` to wait two seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdg.envs.phone.actions import PhoneAction
from sdg.envs.phone.tree import UiTree
from sdg.envs.ui.parser.screen import ScreenElement

SCRIPTS = {
    "clock_1": "Clock > Add alarm > Time=15:00 > Label=Meeting > Save",
    "clock_2": "Clock > Add alarm > Time=06:45 > < > Sound > Argon > Vibrate# > Save",
    "clock_3": "Clock > Add alarm > Time=08:20 > Sat > Sun > Save",
    "clock_4": "Clock > Alarm 06:30 > Alarm 07:15 > Alarm 16:00",
    "clock_5": "Clock > 22:30 > Delete alarm > Delete",
    "clock_6": "Clock > World clock > Add city > Cairo",
    "clock_7": "Clock > Timer > Minutes=25 > Start",
    "clock_8": "Clock",
    "clock_9": "Clock",
    "clock_10": "Clock > 06:30 | Run",
    "calendar_1": "Calendar > New event > Title=Haircut > Date=2026-03-14 > Time=11:00 > Save",
    "calendar_2": "Calendar > New event > Title=Holiday > Date=2026-04-06 > All day# > Save",
    "calendar_3": "Calendar > Dentist > Edit event > Time=11:45 > Save",
    "calendar_4": "Calendar > Yoga > Delete event > Delete",
    "calendar_5": "Calendar > Lunch with Elena > Edit event > Reminder > 1 hour before > Save",
    "calendar_6": "Calendar",
    "calendar_7": "Calendar",
    "calendar_8": "Calendar > Team meeting",
    "notes_1": "Notes > New note > Title=Call plumber > Text=Kitchen tap leaks > Save",
    "notes_2": "Notes > ~Packing > Pin",
    "notes_3": "Notes > ~Book ideas > Delete > Delete",
    "notes_4": "Notes > ~Gift for Ana > Label > Ideas",
    "notes_5": "Notes > Archive > Old plan > More > Restore",
    "notes_6": "Notes > ~Meeting notes > Archive",
    "notes_7": "Notes > Wi-Fi of the cabin",
    "notes_8": "Notes > Meeting notes",
    "contacts_1": "Contacts > New contact > Name=Paula Stein > Phone=555 0420 > Save",
    "contacts_2": "Contacts > Ben Okafor > Edit contact > Phone=555 0909 > Save",
    "contacts_3": "Contacts > Grace Lee > Add star",
    "contacts_4": "Contacts > Tom Baker > Delete contact > Delete",
    "contacts_5": "Contacts > Elena Petrova > Edit contact > Group > Family > Save",
    "contacts_6": "Contacts > Zoe Martin > Call",
    "contacts_7": "Contacts > Farid Nasser",
    "contacts_8": "Contacts > Lê Minh Anh",
    "contacts_9": "Contacts > Daniel Kim",
    "settings_1": "Settings > Network > Wi-Fi#",
    "settings_2": "Settings > Network > Airplane mode#",
    "settings_3": "Settings > Display > Brightness > 75 %",
    "settings_4": "Settings > Display > Dark theme#",
    "settings_5": "Settings > Language > Deutsch",
    "settings_6": "Settings > Sound > Ringtone > Marimba > Do not disturb#",
    "settings_7": "Settings > Security > Change PIN > New PIN=4821 > Save",
    "settings_8": "Settings > Apps > Maps > Notifications#",
    "settings_9": "Settings > About phone",
    "settings_10": "Settings > Storage",
    "settings_11": "Settings > Battery",
    "maps_1": "Maps > Museum > *2 > City Museum > Save place",
    "maps_2": "Maps > Park > *2 > Riverside Park > Directions > Walk > Start",
    "maps_3": "Maps > City Library > Remove from saved",
    "maps_4": "Maps > Clear recent searches",
    "maps_5": "Maps > Pharmacy > *2 > Green Cross Pharmacy",
    "maps_6": "Maps > Cafe > *2 > Best rated",
    "maps_7": "Maps > Museum > *2 > Maritime Museum > Directions > Bus",
    "maps_8": "Maps > City Library",
    "files_1": "Files > Documents > New folder > Name=Invoices > Create",
    "files_2": "Files > ~todo.txt > Rename > Name=done.txt > Rename",
    "files_3": "Files > Downloads > ~ticket.pdf > Move > /Documents",
    "files_4": "Files > Downloads > ~setup.apk > Delete > Delete",
    "files_5": "Files > Documents > ~report.pdf > Copy > /Documents/Taxes",
    "files_6": "Files > Documents",
    "files_7": "Files > Downloads > ticket.pdf",
    "files_8": "Files > Search files > Name=receipt > ^",
    "music_1": "Music > Playlists > New playlist > Name=Party > Create",
    "music_2": "Music > ~Ink > Add to playlist > Focus",
    "music_3": "Music > Kite Season",
    "music_4": "Music > Playing > Repeat > All songs",
    "music_5": "Music > Playlists > ~Morning > Delete",
    "music_6": "Music > ~Daybreak > Add to favourites",
    "music_7": "Music > ~Long Way Down > Details",
    "music_8": "Music",
    "expenses_1": "Expenses > New entry > Amount=12.50 > Title=Lunch > < > Category > Food > Save",
    "expenses_2": "Expenses > New entry > Income > Amount=300 > Title=Bonus > < > Category > Salary > Save",
    "expenses_3": "Expenses > Budgets > Fun > Amount=80.00 > Save",
    "expenses_4": "Expenses > Cinema > Delete entry > Delete",
    "expenses_5": "Expenses > Dinner > Edit entry > Amount=40.00 > Save",
    "expenses_6": "Expenses > Summary",
    "expenses_7": "Expenses",
    "clock_11": "Clock > 07:15 > Label=Office > Save",
    "clock_12": "Clock > World clock > ~Tokyo > Remove",
    "clock_13": "Clock",
    "calendar_9": "Calendar > Conference > Edit event > Place=Hamburg > Save",
    "calendar_10": "Calendar > Flight to Lisbon",
    "calendar_11": "Calendar > New event > Title=Dinner with Zoe > Date=2026-03-27 > Time=19:30"
    " > Place=Harbour Grill > Save",
    "notes_9": "Notes > Book ideas > Edit note > Text=A library under the sea > Save",
    "notes_10": "Notes > Packing",
    "contacts_10": "Contacts > Ana Ruiz > Remove star",
    "contacts_11": "Contacts > Grace Lee > Edit contact > Email=grace.lee@new.example > Save",
    "contacts_12": "Contacts > 山田 花子",
    "settings_12": "Settings > About phone > Device name > Device name=Blue phone > Save",
    "settings_13": "Settings > Date and time > Time zone > Tokyo",
    "settings_14": "Settings > Apps > Maps",
    "maps_9": "Maps > station > *2 > Central Station > Directions > Start",
    "maps_10": "Maps > Pharmacy > *2 > Night Pharmacy",
    "files_9": "Files > Documents > Taxes > New folder > Name=Letters > Create",
    "files_10": "Files > Pictures",
    "music_9": "Music > Playlists > Morning > ~Amber Road > Remove",
    "music_10": "Music > ~Far Shore > Details",
    "expenses_8": "Expenses > Cinema > Edit entry > Category > Other > Save",
    "expenses_9": "Expenses > Budgets",
}

Step = tuple[str, str]
"""Words, and what to do with them: tap, hold or type them; without words, a key of the phone's own."""


def steps_of(script: str) -> list[Step]:
    """A script as steps."""
    steps: list[Step] = []
    for word in script.split(" > "):
        if word in ("^", "<"):
            steps.append(("", "Enter" if word == "^" else "Back"))
        elif word.startswith("*"):
            steps.append((word[1:], "Wait"))
        elif word.startswith("~"):
            steps.append((word[1:], "Long Press"))
        elif "=" in word:
            label, _, value = word.partition("=")
            steps += [(f"\n{label}", "Tap"), (value, "Type")]
        else:
            steps.append((word, "Tap"))
    return steps


def actions_for(steps: list[Step], trees: Iterator[UiTree]) -> Iterator[PhoneAction]:
    """The actions that walk some steps; `trees` gives the screen before each action."""
    for words, kind in steps:
        if kind in ("Tap", "Long Press"):
            yield from _find_and_press(words, kind, trees)
            continue
        next(trees)
        if kind == "Type":
            yield PhoneAction("Type", text=words)
        elif kind == "Wait":
            yield PhoneAction("Wait", seconds=int(words))
        else:
            yield PhoneAction(kind)


def _find_and_press(words: str, kind: str, trees: Iterator[UiTree]) -> Iterator[PhoneAction]:
    """Scroll up, then down, until an element with these words shows, and press it."""
    direction, last = "up", ""
    for tree in trees:
        element = find_element(tree, words)
        if element is not None:
            yield PhoneAction(kind, element=element.id)
            return
        if str(tree) == last:
            assert direction == "up", f"{words!r} is nowhere on\n{tree}"
            direction = "down"
        last = str(tree)
        yield PhoneAction("Swipe", direction=direction, distance="medium")


def find_element(tree: UiTree, words: str) -> ScreenElement | None:
    """The element that a step means: a field by its label, a switch (`#`), else by its words."""
    if words.startswith("\n"):
        fields = [element for element in tree.elements if element.kind == "textbox"]
        matches = [field for field in fields if words[1:].lower() in field.look.lower()]
    elif words.endswith("#"):
        switches = [element for element in tree.elements if element.kind == "checkbox"]
        matches = [switch for switch in switches if switch.text == words[:-1]]
    else:
        pressable = [element for element in tree.elements if element.kind not in ("text", "textbox")]
        exact = [element for element in pressable if element.text == words]
        matches = exact or [element for element in pressable if element.text.startswith(words)]
    # An element of which less than half shows is scrolled to first.
    return next((element for element in matches if element.box[3] - element.box[1] >= 40), None)
