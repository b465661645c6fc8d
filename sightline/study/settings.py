"""Tables of study.toml as models: an unknown key or a wrong value is refused with what to write instead."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError, ValidationInfo

from sightline.addresses import Settings, checked_address
from sightline.errors import StudyError, near
from sightline.records import Question
from sightline.replies import Price
from sightline.study.schema.storable import INT64, refuse_bad_text, sound_question
from sightline.study.study import SETTINGS_FILE, Study

_MOST = 1_000_000
SKIP_REASONS = ("the image does not load", "I do not understand the text")


class Table(BaseModel):
    """A table whose fields are the keys it may hold; a description completes "It must be ..."."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def read(cls, table: Any, where: str) -> Self:
        """The table with every value checked, or an error that names the key and the remedy."""
        try:
            return cls.model_validate(table, context=where)
        except ValidationError as error:
            # A slip in one key may be why another is missing.
            first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        if not first["loc"]:
            raise StudyError("this must be a table", where=where)
        key = str(first["loc"][0])
        if key not in cls.model_fields:
            raise StudyError(f"there is no setting {key!r}", where=where, remedy=near(key, cls.model_fields))
        if first["type"] == "missing":
            raise StudyError(f"{key} is missing", where=where, remedy=cls._remedy(key))
        raise cls.wrong(key, table[key], where)

    @classmethod
    def wrong(cls, key: str, value: object, where: str, wanted: str = "") -> StudyError:
        """The error that a value is not what it must be."""
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
        return StudyError(f"{key} is {shown}", where=where, remedy=cls._remedy(key, wanted))

    @classmethod
    def _remedy(cls, key: str, wanted: str = "") -> str:
        return f"It must be {wanted or cls.model_fields[key].description or 'a text'}."


def _sound(text: str, info: ValidationInfo) -> str:
    refuse_bad_text([(text, str(info.context))])
    if not text.strip():
        raise ValueError
    return text


def _different(texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(texts)) < len(texts):
        raise ValueError
    return texts


Text = Annotated[str, AfterValidator(_sound)]
Short = Annotated[Text, Field(max_length=500)]
Language = Annotated[str, Field(pattern="^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=16)]
# TOML has lists alone.
Texts = Annotated[tuple[Short, ...], Strict(False), AfterValidator(_different)]
Languages = Annotated[tuple[Language, ...], Strict(False), AfterValidator(_different)]
_TEXTS = "a list of different texts of at most 500 characters"


def _whole(default: int | None, low: int, high: int = _MOST) -> Any:
    return Field(default, ge=low, le=high, description=f"a whole number from {low} to {high}")


def _number(default: float | None, low: float, high: float) -> Any:
    return Field(default, ge=low, le=high, description=f"a number from {low:g} to {high:g}")


class QuestionTable(Table):
    """[question.NAME]: what a study says of a question otherwise than its mode or its data."""

    scale: Text | None = None
    wording: Text | None = None
    direction: Text | None = None
    low: float | None = _number(None, -1e15, 1e15)
    high: float | None = _number(None, -1e15, 1e15)
    step: float | None = _number(None, -1e15, 1e15)
    labels: dict[str, str] = Field({}, description='texts by value, such as {"1" = "yes", "0" = "no"}')


class ControlTable(Table):
    """[annotate.NAME.controls]."""

    pages: int | None = _whole(None, 0, 10_000)
    of: int = _whole(5, 2, 10_000)
    images: int = _whole(0, 0, 1000)
    file: Text | None = None
    tag: Text | None = None
    made: bool = Field(False, description="true or false")


class ExampleTable(Table):
    """One of the examples of [annotate.NAME]."""

    shown: Text
    answer: Text
    why: Text | None = None
    image: Text | None = None


class RoundValues(Table):
    """The settings of a round that count as they are written."""

    seed: int = _whole(0, 0, INT64)
    per_item: int = _whole(3, 1, 1000)
    session_pages: int = _whole(50, 1)
    rest_minutes: float = _number(10.0, 0, 24 * 60)
    ahead: int = _whole(5, 1, 100)
    hold_hours: float = _number(24.0, 0.01, 24 * 366)
    repeat: float = _number(0.0, 0, 1)
    suite: Text | None = None
    systems: Texts = Field((), min_length=1, description=_TEXTS)
    where: Text | None = Field(
        None,
        pattern="^tag:.",
        description='a tag of images or prompts, such as "tag:blurred" or "tag:skill=text"',
    )
    top: int | None = _whole(None, 1)
    sample: int | None = _whole(None, 1)
    pairs: int = _whole(10, 1)
    overlap: int = _whole(0, 0)
    choose: Literal["random", "adaptive"] = Field("random", description='"random" or "adaptive"')
    languages: Languages = Field(
        (), description='a list of different languages such as ["de", "fr", "pt-BR"]'
    )
    price: float = _number(0.0, 0, _MOST)
    fee: float = _number(0.0, 0, 1)
    skip_reasons: Texts = Field(SKIP_REASONS, description=_TEXTS)
    comment: bool = Field(False, description="true or false")
    flag: bool = Field(False, description="true or false")
    regions: bool = Field(False, description="true or false")
    both_bad: bool = Field(False, description="true or false")


class RoundTable(RoundValues):
    """[annotate.NAME]."""

    mode: Text | None = None
    title: Text | None = None
    instructions: Text | None = None
    questions: dict[str, Text] = Field(
        {}, description='new names by the name in the mode, such as {relevance = "topical"}'
    )
    examples: list[dict[str, Any]] | None = Field(
        None, description='a list such as [{image = "a.png", shown = "two dogs", answer = "yes"}]'
    )
    reference: Text | Literal[False] | None = Field(None, description="a text, or false for none")
    controls: dict[str, Any] = Field({}, description="a table of its own: [annotate.NAME.controls]")


class PriceTable(Table):
    """A model of [endpoint.NAME.prices]."""

    input: float = _number(0.0, 0, _MOST)
    output: float = _number(0.0, 0, _MOST)
    image: float = _number(0.0, 0, _MOST)


class EndpointTable(Table):
    """[endpoint.NAME]."""

    address: Text
    key: str = Field("", description='the name of an environment variable, such as "OPENAI_API_KEY"')
    in_flight: int = _whole(8, 1, 256)
    per_minute: float = _number(0.0, 0, _MOST)
    timeout: float = _number(120.0, 0.01, 3600)
    retries: int = _whole(5, 0, 20)
    backoff: float = _number(1.0, 0, 60)
    longest_wait: float = _number(120.0, 0, 3600)
    spend: float | None = _number(None, 0, 1e9)
    images_from: Texts = Field((), description='a list of hosts such as ["images.example.org"]')
    moved_from: Texts = Field((), description='a list of addresses such as ["http://localhost:8000/v1"]')
    prices: dict[str, dict[str, Any]] = Field(
        {}, description='a table of models, such as {"gpt-4o" = { input = 2.5, output = 10 }}'
    )

    def settings(self, name: str, where: str) -> Settings:
        """The same as the client takes it."""
        if self.key and not re.fullmatch("[A-Z][A-Z0-9_]*_API_KEY", self.key):
            # Not repeated: it may be the key itself. No other variable may be sent anywhere.
            raise StudyError(
                "key is not the name of an environment variable that ends in _API_KEY",
                where=where,
                remedy='For example key = "OPENAI_API_KEY". The key itself never stands in a file.',
            )
        prices = {
            model: PriceTable.read(price, f"{where[:-1]}.prices.{model}]")
            for model, price in self.prices.items()
        }
        given = {**self.model_dump(), "address": checked_address(self.address, where)}
        given["moved_from"] = tuple(checked_address(each, where) for each in self.moved_from)
        given["prices"] = {model: Price(**price.model_dump()) for model, price in prices.items()}
        return Settings(name, **given)


def declared_question(study: Study, asked: Question) -> Question:
    """The question with what study.toml says of it."""
    declared = study.settings.get("question", {}).get(asked.name)
    if declared is None:
        return sound_question(asked)
    at = f"{study.home / SETTINGS_FILE} [question.{asked.name}]"
    table = QuestionTable.read(declared, at)
    return sound_question(asked._replace(**table.model_dump(exclude_unset=True), at=at))
