"""The single facts a scene asks for, and which of them a drawn scene holds: the known truth of a picture."""

from dataclasses import dataclass

from sightline.samples.scenes import OPPOSITE, Group, Scene


@dataclass(frozen=True)
class Fact:
    """One demand that is met or not; `skill` is what it takes to meet it."""

    skill: str
    about: str
    value: str | int


def facts(scene: Scene) -> tuple[Fact, ...]:
    """Every demand of a scene, in the order of its text.

    "A ball" asks for a ball; only a number that is written asks for counting.
    """
    asked: list[Fact] = []
    for group in scene.groups:
        asked.append(Fact("object", group.kind, "present"))
        if group.count > 1:
            asked.append(Fact("counting", group.kind, group.count))
        if group.colour:
            asked.append(Fact("colour", group.kind, group.colour))
        if group.size:
            asked.append(Fact("size", group.kind, group.size))
    if scene.where:
        first, second = scene.groups[0].kind, scene.groups[1].kind
        asked.append(Fact("spatial", first, f"{scene.where} {second}"))
    if scene.absent:
        asked.append(Fact("negation", scene.absent, "absent"))
    if scene.words:
        asked.append(Fact("writing", "sign", scene.words))
    return tuple(asked)


def holds(fact: Fact, drawn: Scene) -> bool:
    """Whether a drawn scene meets one demand; what is not there has no colour, size or place."""
    shown: dict[str, Group] = {group.kind: group for group in drawn.groups}
    group = shown.get(fact.about)
    match fact.skill:
        case "negation":
            return group is None
        case "writing":
            return drawn.words == fact.value
        case "spatial":
            return fact in _relations(drawn)
        case "object":
            return group is not None
        case "counting":
            return group is not None and group.count == fact.value
        case "colour":
            return group is not None and group.colour == fact.value
        case "size":
            return group is not None and group.size == fact.value
    raise ValueError(f"no such kind of fact: {fact.skill!r}")


def _relations(drawn: Scene) -> set[Fact]:
    if not drawn.where:
        return set()
    first, second = drawn.groups[0].kind, drawn.groups[1].kind
    return {
        Fact("spatial", first, f"{drawn.where} {second}"),
        Fact("spatial", second, f"{OPPOSITE[drawn.where]} {first}"),
    }


def verdicts(asked: Scene, drawn: Scene) -> dict[Fact, bool]:
    """Each fact asked for, and whether the drawn scene holds it."""
    return {fact: holds(fact, drawn) for fact in facts(asked)}


def alignment(asked: Scene, drawn: Scene) -> float:
    """The proportion of the facts asked for that the drawn scene holds, from 0 to 1."""
    met = verdicts(asked, drawn)
    return sum(met.values()) / len(met)
