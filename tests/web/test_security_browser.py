"""Scripts in prompts, names, reasons and translations are text, shown in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from sightline.judging import oversee
from sightline.study.schema import database

ROUND = '[annotate.r]\nmode = "yes_no"\nper_item = 3\nahead = 40\nsession_pages = 200\n'
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(2)</script>"
EVIL = f"{IMAGE}{SCRIPT}\"'><svg onload=alert(3)>{{{{7*7}}}}"


@pytest.fixture
def watched(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """A browser's context, and whatever in it looks like a script that ran or was stopped."""
    seen: list[str] = []
    context = browser.new_context()
    context.set_default_timeout(60_000)
    context.expose_binding("tell", lambda _, what: seen.append(what))
    context.add_init_script(
        "document.addEventListener('securitypolicyviolation',"
        " event => tell('policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
    )

    def dialog(opened: Any) -> None:
        seen.append(f"dialog: {opened.message}")
        opened.dismiss()

    context.on("dialog", dialog)
    context.on("console", lambda told: seen.append(told.text) if "Security Policy" in told.text else None)
    yield context, seen
    context.close()


def nothing_ran(page: Any, seen: list[str]) -> None:
    strange = "document.querySelectorAll('img[src=\"x\"], svg[onload], body script').length"
    assert page.evaluate(strange) == 0
    page.wait_for_timeout(300)
    assert seen == []


def test_scripts_in_a_prompt_are_text_before_an_annotator(live: Any, watched: Any) -> None:
    context, seen = watched
    server = live(
        f'[annotate.r]\nmode = "yes_no"\nper_item = 3\ntitle = "{SCRIPT}"\ninstructions = "{IMAGE}"\n'
        f'languages = ["de"]\nskip_reasons = ["{IMAGE}"]\n'
        f'examples = [{{shown = "{IMAGE}", answer = "{SCRIPT}", why = "{IMAGE}"}}]\n',
        text=EVIL,
    )
    with database.writing(server.study.engine) as connection:
        query = "INSERT INTO translation (prompt_id, language, text) SELECT id, 'de', :evil FROM prompt"
        connection.execute(text(query), {"evil": f"auf Deutsch {EVIL}"})
    page = context.new_page()
    page.goto(server.invite(IMAGE))
    page.wait_for_selector("#instructions[open]")
    assert IMAGE in page.inner_text("#instructions-text") and IMAGE in page.inner_text("#examples")
    page.keyboard.press("Enter")
    page.wait_for_selector("#things .thing")
    assert EVIL in page.inner_text("#prompt") and SCRIPT in page.inner_text("#title")
    page.select_option("#language", "de")
    page.wait_for_function("() => document.getElementById('prompt').textContent.startsWith('auf Deutsch')")
    assert EVIL in page.inner_text("#prompt")
    page.click("#skip-page")
    page.wait_for_selector("#skip[open]")
    assert IMAGE in page.inner_text("#skip-reasons")
    nothing_ran(page, seen)


def test_scripts_in_names_reasons_and_prompts_are_text_before_the_owner(
    live: Any, client: Any, watched: Any
) -> None:
    context, seen = watched
    server = live(ROUND, text=EVIL)
    names = (f"a {IMAGE}", f"b {SCRIPT}")
    for value, name in enumerate(names):
        who = client(server.invite(name))
        pages = who.work()["pages"]
        for page in pages[:-1]:
            who.answer_page(page, value)
        who.answer_page(pages[-1], None, skipped=EVIL)
    oversee.exclude(server.study, names[1], EVIL)
    oversee.restore(server.study, names[1])
    page = context.new_page()
    page.goto(server.owner())
    page.wait_for_selector("#all:not([hidden])")
    shown = page.inner_text("#people-list")
    assert all(name in shown for name in names)
    assert EVIL in page.inner_text("#disputes")
    page.locator("summary", has_text="As a table").last.click()
    page.locator(".chart td").first.wait_for()
    assert page.locator("#charts img:not([data-address])").count() == 0
    oversee.exclude(server.study, names[1], EVIL)
    page.reload()
    page.wait_for_selector("#all:not([hidden])")
    assert EVIL in page.inner_text("#people-list")
    nothing_ran(page, seen)


def test_the_watch_sees_what_it_should(live: Any, watched: Any) -> None:
    """The same watch on a page that does what the others must not: else silence would mean nothing."""
    context, seen = watched
    server = live(ROUND)
    page = context.new_page()
    page.goto(server.invite("ann"))
    page.wait_for_selector("#instructions[open]")
    page.evaluate("evil => { document.getElementById('prompt').innerHTML = evil; }", EVIL)
    while not any(told.startswith("policy: ") for told in seen):
        page.wait_for_timeout(50)
    page.evaluate("setTimeout(() => alert(9))")
    while "dialog: 9" not in seen:
        page.wait_for_timeout(50)
    assert page.evaluate("document.querySelectorAll('img[src=\"x\"], svg[onload]').length") > 0
