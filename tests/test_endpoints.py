"""The client of an endpoint: the spend limit holds for calls at once, and a key is never shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from endpoint_server import Server, serving

from sightline.addresses import Settings
from sightline.endpoints import Call, Endpoint, Memory, Stopped
from sightline.errors import DataError
from sightline.replies import Price


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


class Asks(Memory):
    """A ledger that asks for another image just before the cost of the last one is counted."""

    client: Endpoint

    def settled(self, call: Call) -> None:
        with pytest.raises(Stopped, match=r"the spend limit of 0\.05 is reached"):
            self.client.image({"model": "draw-1", "prompt": "a cone"})
        super().settled(call)


def test_a_call_that_came_back_counts_towards_the_limit_at_once(server: Server) -> None:
    ledger = Asks()
    prices = {"draw-1": Price(image=0.04)}
    ledger.client = Endpoint(Settings("local", server.address, spend=0.05, prices=prices), ledger)
    assert ledger.client.image({"model": "draw-1", "prompt": "a ball"}).data
    assert ledger.spent() == pytest.approx(0.04) and len(server.bodies) == 1
    ledger.client.close()


def test_a_key_is_struck_out_however_it_is_written(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "se/cr/et")
    client = Endpoint(Settings("local", server.address, key="LOCAL_API_KEY"))
    with pytest.raises(DataError, match=r"Bearer \[key\]") as caught:
        client.image({"model": "draw-1", "prompt": "a ball [badkey]"})
    assert "se/cr/et" not in str(caught.value)
    client.close()
