"""What is listened for, and texts without it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

WORDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
CLASSES = (*WORDS, "unknown", "silence")
UNKNOWN, SILENCE = len(WORDS), len(WORDS) + 1

# How they are said, in espeak-ng's mnemonics: dictionaries of accents know one way each.
SAID = {
    "yes": ("j'Es", "j'es", "j'E@s"), "no": ("n'oU", "n'@U", "n'o:"), "up": ("'Vp", "'ap", "'@p"),
    "down": ("d'aUn", "d'a:Un", "d'AUn"), "left": ("l'Eft", "l'eft"), "right": ("r'aIt", "r'aI;t", "r'VIt"),
    "on": ("'0n", "'A:n", "'O:n"), "off": ("'0f", "'A:f", "'O:f"), "stop": ("st'0p", "st'A:p", "st'Op"),
    "go": ("g'oU", "g'@U", "g'o:"),
}  # fmt: skip
# And in Kokoro's symbols.
SPOKEN = {
    "yes": ("jˈɛs",), "no": ("nˈO", "nˈQ"), "up": ("ˈʌp",), "down": ("dˈWn",), "left": ("lˈɛft",), "right": ("ɹˈIt",),
    "on": ("ˈɔn", "ˈɑn", "ˈɒn"), "off": ("ˈɔf", "ˈɒf"), "stop": ("stˈɑp", "stˈɒp"), "go": ("ɡˈO", "ɡˈQ"),
}  # fmt: skip

# Sound the same, or have one of the words as a part of their own.
ALIKE = re.compile(
    r"yes|no|know\w*|up|upon|ups|down\w*|\w+down|left\w*|\w*rights?|right\w*|\w*write\w*|rites?|on|onto|\w+going|offs?"
    r"|stop\w*|go|goes|going|ago|forgo|nope|\w+up|\w+off|upright|wright"
)
# Near in sound: without these a net learns vowels, not words.
NEAR = """yet yell yeah guess less chess mess dress jazz gas yard nose note so low snow toe row show now new knee mow
bow nor nut cup pup puck but us ugh of app op out town dawn don doubt dow done gown brown noun lift loft laughed let
less lef lent theft deft felt light ride rye rice ripe bright rat rut aunt own an in arm hon swan awl oft cough often
awful all odd stock top step stab staff star spot shop stalk store gold girl goat gun coat bow hoe oh owe toe foe
yesterday nobody uphill online offer office goal gopher notice nomad upper yesterdays""".split()  # noqa: SIM905


def near() -> list[str]:
    return [w for w in NEAR if not ALIKE.fullmatch(w)]


def word_list(seed: int, count: int) -> list[str]:
    """Random words of Debian's `wamerican`, and all near ones."""
    lines = Path("/usr/share/dict/words").read_text().split()
    lower = [w for w in lines if re.fullmatch("[a-z]{2,9}", w) and not ALIKE.fullmatch(w)]
    return [*near(), *(str(w) for w in np.random.default_rng(seed).choice(lower, count, replace=False))]


def sentences(*licences: str) -> list[str]:
    """Pieces of 4 to 12 words of texts that every Debian has, without the words that are listened for."""
    found: list[str] = []
    for name in licences:
        text = Path("/usr/share/common-licenses", name).read_text()
        said = [w for w in re.findall(r"[a-z]+", text.lower()) if not ALIKE.fullmatch(w)]
        cuts = np.cumsum(np.random.default_rng(len(said)).integers(4, 13, len(said) // 4))
        found += [" ".join(piece) for piece in np.split(said, cuts[cuts < len(said)])]
    return found
