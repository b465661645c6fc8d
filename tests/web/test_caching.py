"""What a browser may keep: an address never stands for two images, of whichever round or study."""

from __future__ import annotations

from typing import Any

import httpx

ROUND = (
    '[annotate.{name}]\nmode = "yes_no"\nper_item = 3\nquestions = {{match = "{name}"}}\n'
    'examples = [{{shown = "x", answer = "y", why = "z", image = "{name}.png"}}]\n'
)


class Browser:
    """Keeps what a reply allows to keep, for every address of one host and port."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def image(self, person: Any, address: str) -> tuple[bytes, bytes]:
        """What this browser shows, and what the server has."""
        reply: httpx.Response = person.http.get(address)
        assert reply.status_code == 200, reply.text
        shown = self.kept.get(address, reply.content)
        if "no-store" not in reply.headers["cache-control"]:
            self.kept[address] = reply.content
        return shown, reply.content


def test_a_kept_image_is_never_shown_for_another(live: Any, client: Any) -> None:
    browser, seen = Browser(), 0
    rounds = "".join(ROUND.format(name=name) for name in ("r1", "r2"))
    for study, images in (("one", 2), ("two", 3)):
        # Two studies, as if in turn on one port: their items have the same numbers.
        files = {"r1.png": 5000 + images, "r2.png": 6000 + images}
        server = live(rounds, name=study, images=images, files=files)
        owner = client(server.owner())
        for opened in server.opened:
            person = client(server.invite("ann", opened.round.name))
            pages = person.work()["pages"]
            linked = next(page for page in pages if page["linked"])
            (prompt,) = person.get(f"/api/linked/{linked['page']}/0")["prompts"]
            own = [address for page in pages for address in page["slots"][0]["images"]]
            for address in ("/api/examples/0", *own, *prompt["images"]):
                shown, true = browser.image(person, address)
                assert shown == true, address
                seen += 1
            # A page that is left and opened again need not fetch its images again.
            assert set(own) <= set(browser.kept)
        for item in range(1, 9):
            shown, true = browser.image(owner, f"/api/owner/images/{item}/0")
            assert shown == true
            seen += 1
        server.stop()
    assert seen > 40
