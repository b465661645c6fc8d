"""What a round will take before it begins: pages, judgements, people, hours and money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil

from sightline.errors import UsageError
from sightline.judging.items import build
from sightline.judging.rounds import RoundSettings
from sightline.study.study import Study

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Plan:
    """The size of a round; plans of its parts add up.

    `items` are pages of work, each judged by `per_item` people; `tasks` are all pages that are handed out:
    `work` (items x per_item), `control_pages` among them, and `repeats`. `control_images` counts the images
    on pages of work whose answer is known. `amount` is tasks x price x (1 + fee), not rounded; `hours` is
    tasks x seconds a page.
    """

    items: int
    work: int
    control_pages: int
    control_images: int
    repeats: int
    per_item: int
    amount: Decimal
    hours: float | None

    @property
    def cost(self) -> Decimal:
        """What it costs, in whole cents."""
        return self.amount.quantize(CENT, ROUND_HALF_UP)

    @property
    def tasks(self) -> int:
        """All pages that are handed out."""
        return self.work + self.control_pages + self.repeats

    @property
    def annotators(self) -> int:
        """How many people it takes at least: nobody judges an item twice."""
        return self.per_item if self.items else 0

    def pages_each(self, annotators: int) -> int:
        """How many pages the busiest of so many annotators does, where they share evenly."""
        if annotators < max(1, self.annotators):
            raise UsageError(
                f"{self.per_item} judgements an item cannot come from {annotators} annotators",
                remedy="Each judges an item once: invite more people, or ask for fewer judgements.",
            )
        return ceil(self.tasks / annotators)

    def __add__(self, other: Plan) -> Plan:
        timed = self.hours is not None and other.hours is not None
        return Plan(
            items=self.items + other.items,
            work=self.work + other.work,
            control_pages=self.control_pages + other.control_pages,
            control_images=self.control_images + other.control_images,
            repeats=self.repeats + other.repeats,
            per_item=max(self.per_item, other.per_item),
            amount=self.amount + other.amount,
            hours=(self.hours or 0.0) + (other.hours or 0.0) if timed else None,
        )


def plan(
    prompts: int,
    images: int,
    *,
    places: int = 1,
    taken: int = 0,
    per_item: int = 3,
    control_pages: int = 0,
    of: int = 5,
    repeat: float = 0.0,
    price: Decimal | float | str = 0,
    fee: Decimal | float | str = 0,
    seconds: float | None = None,
) -> Plan:
    """The plan for so many prompts with so many images each, `places` a page of which controls take `taken`.

    Pages a prompt: images / (places - taken), rounded up. ConQA: 50 conceptual queries with 100 images, 5 a
    page, and 30 descriptive ones with 1 of the 5 a control, 3 judgements each, are 50 x 60 + 30 x 75 tasks.
    """
    if min(prompts, images) < 0:
        raise UsageError(f"{prompts} prompts with {images} images", remedy="0 or more of each.")
    if not 0 <= taken < places:
        raise UsageError(
            f"controls take {taken} of the {places} places of a page",
            remedy="At least one is left for the work.",
        )
    items = prompts * ceil(Fraction(images, places - taken))
    return _sized(
        items, items * taken, per_item, control_pages, of, repeat, _money(price), _money(fee), seconds
    )


def plan_of(study: Study, settings: RoundSettings, *, seconds: float | None = None) -> Plan:
    """The plan of a round as its items would be built now; `seconds` is the time a page is likely to take."""
    items = build(study, settings)
    work = [item for item in items if item.kind == "work"]
    known = sum(bool(slot.control) for item in work for slot in item.slots)
    controls = settings.controls
    return _sized(
        len(work),
        known,
        settings.per_item,
        controls.pages,
        controls.of,
        settings.repeat,
        _money(settings.price),
        _money(settings.fee),
        seconds,
        # Nobody gets a control page twice; with the fewest people there are only so many to give.
        at_most=(len(items) - len(work)) * settings.per_item,
    )


def _sized(
    items: int,
    known: int,
    per_item: int,
    pages: int,
    of: int,
    repeat: float,
    price: Decimal,
    fee: Decimal,
    seconds: float | None,
    at_most: int | None = None,
) -> Plan:
    if per_item < 1:
        raise UsageError(f"{per_item} judgements an item", remedy="At least 1.")
    if not 0 <= pages < of:
        raise UsageError(f"{pages} of {of} pages are control pages", remedy="Fewer, so that work is left.")
    if not 0 <= repeat <= 1:
        raise UsageError(f"{repeat:g} of the pages come again", remedy="A share from 0 to 1.")
    if min(price, fee) < 0 or (seconds is not None and seconds < 0):
        raise UsageError("a price, fee or time is below 0", remedy="0 or more.")
    work = items * per_item
    repeats = ceil(Fraction(str(repeat)) * work)
    # A block of `of` pages has `of` - `pages` places for everything else.
    controls = ceil(Fraction(pages, of - pages) * (work + repeats))
    controls = controls if at_most is None else min(controls, at_most)
    tasks = work + repeats + controls
    return Plan(
        items=items,
        work=work,
        control_pages=controls,
        control_images=known * per_item,
        repeats=repeats,
        per_item=per_item,
        amount=tasks * price * (1 + fee),
        hours=None if seconds is None else tasks * seconds / 3600,
    )


def _money(told: Decimal | float | str) -> Decimal:
    # By way of its digits: 0.1 as a binary fraction is a little more than ten cents.
    found = Decimal(str(told))
    if not found.is_finite():
        raise UsageError(f"a price or fee is {told}", remedy="A plain number.")
    return found
