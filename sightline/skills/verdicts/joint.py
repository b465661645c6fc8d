"""Whether an image shows something, by a joint encoder: the phrase against distractors, as in GIMBRR."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from sightline.demands import CANNOT_TELL, NO, YES, Demand, Mark, Scene, Verdict
from sightline.errors import UsageError
from sightline.extension import JointEncoder, needs, verdict
from sightline.language.kinds import kind_of, plain_kind, same_kind
from sightline.pictures import Crop, Picture
from sightline.skills.verdicts._looking import look

_SOURCE = "GIMBRR (automatic assessment); Radford et al. 2021 (CLIP)"
_THINGS = """
    airplane anchor apple armchair axe backpack ball balloon banana barrel basket bear bed bee bell
    bench bicycle bird boat book boot bottle bowl box bread bridge broom brush bucket bus butterfly
    button cactus cake camel camera candle car carrot castle cat chain chair cheese cherry clock cloud
    coat coin comb compass cow crab crown cup deer dog dolphin door dragon dress drum duck eagle egg
    elephant envelope fan feather fence fish flag flower fork fountain fox frog giraffe glove goat grape
    guitar hammer hat helmet horse house iron island jacket key kite knife ladder lamp leaf lemon lion
    lizard map mask mirror monkey moon mountain mushroom needle nest octopus onion orange owl panda
    parrot pear pen pencil penguin piano pig pillow pizza plate potato pumpkin rabbit ring river robot
    rocket rope rose sandwich saw scarf scissors sheep shell ship shirt shoe shovel skateboard snail
    snake sofa spider spoon stairs star strawberry suitcase sun swan sword table telephone tent tiger
    toaster tomato tower tractor train tree truck trumpet turtle umbrella vase violin wallet watch well
    whale wheel windmill window wolf zebra
"""
THINGS = tuple(_THINGS.split())
"""What distractors are drawn from: common things that are easy to tell apart."""
_LOOKS = """
    wooden metal plastic glass stone paper leather rubber golden striped spotted furry shiny fluffy
    rusty broken transparent cracked knitted inflatable
"""
LOOKS = tuple(_LOOKS.split())
"""What distractors of an attribute are drawn from."""


@verdict(
    decides="presence", skills=("single_object", "multiple_objects"), looks_at_picture=True,
    source=_SOURCE, licence="Apache-2.0",
)  # fmt: skip
def joint_presence(
    demand: Demand,
    scene: Scene,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    distractors: int = 20,
    sure: float = 0.5,
    doubt: float = 0.1,
    scale: float = 100.0,
    seed: int = 0,
) -> Verdict:
    """Whether a joint encoder finds the object asked for rather than others.

    "A photo of a dog" is compared with the picture, and so are as many `distractors`: common things that the
    prompt does not name, drawn by `seed` and the object's name, so that a verdict repeats. The probability of
    the object is the softmax of the cosines under `encoder` times `scale` (CLIP's own is 100). Yes from
    `sure` on, no below `doubt`, otherwise cannot tell. Knows any word that the encoder knows.
    """
    return _shown(demand, scene, encoder, (distractors, sure, doubt, scale, seed))


@verdict(
    decides="absence", skills=("negation", "conditional"), looks_at_picture=True,
    source=_SOURCE, licence="Apache-2.0",
)  # fmt: skip
def joint_absence(
    demand: Demand,
    scene: Scene,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    distractors: int = 20,
    sure: float = 0.5,
    doubt: float = 0.1,
    scale: float = 100.0,
    seed: int = 0,
) -> Verdict:
    """Whether a joint encoder finds others rather than the object that must be absent.

    The reverse of `joint_presence`, with the same `encoder`, `distractors`, `seed`, `scale`, `sure` and
    `doubt`.
    """
    seen = _shown(demand, scene, encoder, (distractors, sure, doubt, scale, seed))
    turned = {YES: NO, NO: YES}.get(seen.verdict, CANNOT_TELL)
    return Verdict(turned, seen.why, seen.confidence, seen.boxes)


@verdict(
    decides="attribute", skills=("compositional",), looks_at_picture=True,
    source="ours, after Ghosh et al. 2023 (GenEval); Radford et al. 2021 (CLIP)", licence="Apache-2.0",
)  # fmt: skip
def joint_attribute(
    demand: Demand,
    scene: Scene,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    distractors: int = 10,
    sure: float = 0.5,
    doubt: float = 0.1,
    scale: float = 100.0,
    seed: int = 0,
) -> Verdict:
    """Whether a joint encoder finds the attribute asked for rather than others, in the box of the object.

    "A photo of a wooden chair" against the same with as many other attributes (`distractors`), drawn by
    `seed`, on the part of the picture where the detector saw the object, else on all of it. The softmax under
    `encoder` and `scale` decides as in `joint_presence`: yes from `sure` on, no below `doubt`.
    """
    options = (distractors, sure, doubt, scale, seed)
    _check("joint_attribute", options)
    if scene.picture is None:
        return _no_picture()
    kind = demand.wanted.kind
    seen = look(scene, kind, None)
    box = seen.sure[0].box if seen.sure else None
    picture: Picture = Crop(scene.picture, box) if box else scene.picture
    others = _drawn([each for each in LOOKS if each != demand.text.lower()], demand.about, options)
    texts = [f"a photo of a {each} {plain_kind(kind)}" for each in (demand.text, *others)]
    found = _decided(_probability(encoder, picture, texts, scale), f"{demand.text} {kind}", sure, doubt)
    marks = (Mark(kind, box, seen.sure[0].confidence),) if box else ()
    return Verdict(found.verdict, found.why, found.confidence, marks)


Options = tuple[int, float, float, float, int]


def _shown(demand: Demand, scene: Scene, encoder: JointEncoder, options: Options) -> Verdict:
    _check(f"joint_{demand.kind}", options)
    if scene.picture is None:
        return _no_picture()
    kind = plain_kind(demand.wanted.kind)
    named = (*demand.expects.kinds(), kind)
    free = [
        each
        for each in THINGS
        if not any(same_kind(each, one) or kind_of(each, one) or kind_of(one, each) for one in named)
    ]
    texts = [f"a photo of a {each}" for each in (kind, *_drawn(free, kind, options))]
    _, sure, doubt, scale, _ = options
    return _decided(_probability(encoder, scene.picture, texts, scale), kind, sure, doubt)


def _drawn(free: Sequence[str], about: str, options: Options) -> list[str]:
    rng = np.random.default_rng([options[4], crc32(about.encode())])
    return [free[int(place)] for place in rng.permutation(len(free))[: options[0]]]


def _probability(encoder: JointEncoder, picture: Picture, texts: Sequence[str], scale: float) -> float:
    rows = np.asarray(encoder.text(texts), dtype=np.float64)
    image = np.asarray(encoder.image([picture]), dtype=np.float64)[0]
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(image)
    logits = scale * (rows @ image) / np.maximum(norms, 1e-12)
    weights = np.exp(logits - logits.max())
    return float(weights[0] / weights.sum())


def _decided(probability: float, what: str, sure: float, doubt: float) -> Verdict:
    said = YES if probability >= sure else NO if probability < doubt else CANNOT_TELL
    why = f"Against others, {what} has a probability of {probability:.2f}."
    return Verdict(said, why, round(probability if said != NO else 1 - probability, 4))


def _no_picture() -> Verdict:
    return Verdict(CANNOT_TELL, "There is no picture to look at.")


def _check(name: str, options: Options) -> None:
    distractors, sure, doubt, scale, seed = options
    if not 0 <= doubt <= sure <= 1 or distractors < 1 or not scale > 0 or seed < 0:
        raise UsageError(
            f"{name}: distractors={distractors}, sure={sure}, doubt={doubt}, scale={scale}, seed={seed}",
            remedy="For example distractors=20, sure=0.5, doubt=0.1, scale=100.0, seed=0.",
        )
