"""People at the annotation page: a real browser before a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

WAIT = 60_000


class Person:
    """Somebody who judges in a browser."""

    def __init__(self, browser: Any, link: str, **how: Any) -> None:
        how.setdefault("viewport", {"width": 1280, "height": 800})
        self.context = browser.new_context(**how)
        self.context.set_default_timeout(WAIT)
        self.faults: list[str] = []
        self.page = self.tab(link)

    def tab(self, address: str) -> Any:
        """Open an address in a new tab, and read on past the instructions if they show."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._heard)
        page.goto(address)
        page.wait_for_selector("#instructions[open], #things .thing, #screen:not([hidden])")
        page.wait_for_timeout(100)
        return page

    def _heard(self, message: Any) -> None:
        # A cut network and a refusal are what some tests are about; the browser reports both by itself.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def begin(self) -> Person:
        """Close the instructions, and wait until the page knows: it hears of it after they are gone."""
        read = "Object.keys(localStorage).filter(key => key.endsWith('/read')).length"
        before = self.page.evaluate(read)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("#instructions", state="hidden")
        self.page.wait_for_function(f"before => {read} > before", arg=before)
        return self

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def number(self) -> str:
        """The address of the first image in view: it names the page."""
        return self.page.evaluate("document.querySelector('.thing .picture img').src")

    def goes_on(self, before: Any) -> None:
        """Wait until another page is in view than the one whose image this was."""
        self.page.wait_for_function(
            "before => { const image = document.querySelector('.thing .picture img');"
            " return image?.src && image.src !== before; }",
            arg=before,
        )

    def judge(self, *keys: str) -> None:
        """Press keys that finish the page, and wait for the next one."""
        before = self.number()
        self.press(*keys)
        self.goes_on(before)

    def go_offline(self) -> None:
        """Cut the network once everything that was asked for is there."""
        self.page.wait_for_load_state("networkidle")
        self.context.set_offline(True)

    def chosen(self) -> list[str]:
        """The labels that are taken on the page in view."""
        return self.page.evaluate(
            "[...document.querySelectorAll('.choice[aria-pressed=true] span')].map(each => each.textContent)"
        )

    def waiting(self) -> int:
        """Answers kept in the browser that have no receipt yet."""
        return self.page.evaluate("Object.keys(localStorage).filter(key => key.includes('/answer/')).length")

    def keeps(self, n: int) -> None:
        """Wait until so many answers are kept in the browser."""
        self.page.wait_for_function(
            "n => Object.keys(localStorage).filter(key => key.includes('/answer/')).length === n", arg=n
        )

    def all_sent(self) -> None:
        """Wait until every answer has its receipt."""
        self.page.wait_for_function(
            "() => !Object.keys(localStorage).some(key => key.includes('/answer/'))", timeout=60_000
        )

    def says(self, text: str) -> None:
        """Wait for a message."""
        self.page.wait_for_function(
            "text => document.getElementById('said').textContent.includes(text)", arg=text
        )


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Person]]:
    """Lets people in by their links; at the end nobody's browser may have reported an error."""
    people: list[Person] = []

    def come(link: str, *, begin: bool = True, **how: Any) -> Person:
        people.append(Person(browser, link, **how))
        return people[-1].begin() if begin else people[-1]

    yield come
    for person in people:
        person.context.close()
    assert [fault for person in people for fault in person.faults] == []


@pytest.fixture
def seated(live: Any, visit: Any) -> Callable[..., tuple[Any, Person]]:
    """A server with these settings, and ann at its page past the instructions."""

    def come(settings: str, **more: Any) -> tuple[Any, Person]:
        server = live(settings, **more)
        return server, visit(server.invite("ann"))

    return come
