"""The same scene in other words: captions of pictures, rephrasings of prompts."""

from sightline.samples.scenes import NUMBERS, OPPOSITE, PLURALS, Group, Scene, listing, with_article

SYNONYMS: dict[str, tuple[str, str]] = {
    "ball": ("sphere", "spheres"),
    "boat": ("sailing boat", "sailing boats"),
    "box": ("cube", "cubes"),
    "car": ("automobile", "automobiles"),
    "cat": ("kitten", "kittens"),
    "cup": ("mug", "mugs"),
    "flower": ("blossom", "blossoms"),
    "house": ("cottage", "cottages"),
    "mushroom": ("toadstool", "toadstools"),
    "umbrella": ("parasol", "parasols"),
}
SIZES: dict[str, str] = {"small": "little", "large": "big"}


def wordings(scene: Scene) -> tuple[str, str, str]:
    """Three ways to say what the scene says; the first is closest to its prompt."""
    return f"{scene.text} on a plain background", _described(scene), _noted(scene)


def _noun(group: Group, count: int) -> str:
    names = SYNONYMS.get(group.kind, (group.kind, PLURALS[group.kind]))
    words = (SIZES[group.size] if group.size else None, group.colour, names[count > 1])
    return " ".join(word for word in words if word)


def _other_words(group: Group) -> str:
    noun = _noun(group, group.count)
    return f"{NUMBERS[group.count]} {noun}" if group.count > 1 else with_article(noun)


def _described(scene: Scene) -> str:
    """A sentence in synonyms, relations seen from the other side."""
    things = [_other_words(group) for group in scene.groups]
    if scene.where:
        where = (
            OPPOSITE[scene.where].replace("left of", "to the left of").replace("right of", "to the right of")
        )
        things[:2] = [f"{things[1]} {where} {things[0]}"]
    if scene.words:
        things.append(f'a board with the word "{scene.words}"')
    absent = f", without any {PLURALS[scene.absent]}" if scene.absent else ""
    return f"a picture of {listing(things)}{absent}"


def _noted(scene: Scene) -> str:
    """Keywords, as people type them: "ball (red) x 3"."""
    notes = []
    for group in scene.groups:
        traits = ", ".join(trait for trait in (group.size, group.colour) if trait)
        notes.append(
            group.kind + (f" ({traits})" if traits else "") + (f" x {group.count}" if group.count > 1 else "")
        )
    if scene.where:
        notes.append(f"{scene.groups[0].kind} {scene.where} {scene.groups[1].kind}")
    if scene.words:
        notes.append(f"sign: {scene.words}")
    if scene.absent:
        notes.append(f"no {scene.absent}")
    return "illustration: " + "; ".join(notes)
