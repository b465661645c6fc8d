"""Which prompts an expression keeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sightline.comparison.where import prompts_where
from sightline.errors import UsageError
from sightline.records import Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.study import Study

Made = Callable[[list[Record]], Study]

PROMPTS = {
    ("easy", "1"): {"skill": "counting", "style": "sketch"},
    ("easy", "2"): {"skill": "counting", "style": "photo"},
    ("hard", "3"): {"skill": "text", "style": "photo"},
    ("hard", "4"): {"skill": "text and layout", "style": "oil (old)"},
    ("hard", "5"): {"skill": "android"},
}


@pytest.fixture
def tagged(blank: Made) -> Study:
    return blank([Prompt(PromptKey(*key), f"prompt {key[1]}", tags) for key, tags in PROMPTS.items()])


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("skill=counting", "12"),
        ("skill = counting", "12"),
        ("not skill=counting", "345"),
        ("skill=counting and style=sketch", "1"),
        ("skill=counting or style=photo", "123"),
        # "and" binds more strongly than "or", "not" more strongly than both.
        ("skill=text or skill=counting and style=sketch", "13"),
        ("(skill=text or skill=counting) and style=sketch", "1"),
        ("not skill=counting and style=photo", "3"),
        ("not (skill=counting and style=photo)", "1345"),
        ("NOT skill=counting AND suite=hard", "345"),
        ("suite=easy", "12"),
        ("prompt=4", "4"),
        ("not not suite=easy", "12"),
        # Quotes protect words and parentheses of a value; "android" holds an "and" that is none.
        ("skill='text and layout'", "4"),
        ('style="oil (old)"', "4"),
        ("skill=android", "5"),
    ],
)
def test_kept(tagged: Study, where: str, kept: str) -> None:
    refs = dict(reading.prompts(tagged).select("prompt_id", "ref").iter_rows())
    assert "".join(refs[each] for each in prompts_where(tagged, where)) == kept


@pytest.mark.parametrize(
    ("where", "said", "remedy"),
    [
        ("", "cannot read ''", "skill=counting and not"),
        ("skill", "cannot read 'skill'", "joined by and, or, not"),
        ("skill=counting and", "cannot read", "joined by"),
        ("and skill=counting", "cannot read", "joined by"),
        ("(skill=counting", "is not closed", "joined by"),
        ("skill=counting) or suite=easy", "from ')'", "joined by"),
        ("skil=counting", "no prompt has a tag 'skil'", "skill"),
        ("skill=countng", "no prompt has skill = 'countng'", "counting"),
        ("suite=hrd", "no prompt has suite = 'hrd'", "hard"),
    ],
)
def test_what_cannot_be_read(tagged: Study, where: str, said: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(").replace(")", r"\)")) as caught:
        prompts_where(tagged, where)
    assert remedy in (caught.value.remedy or "")
