"""Any OpenAI-compatible endpoint that makes images, hosted or one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sightline.chat import with_options
from sightline.endpoints import Endpoint, connect
from sightline.errors import UsageError
from sightline.extension import generator
from sightline.pictures import GeneratedImage
from sightline.records import Failure, Prompt


@generator(
    source="OpenAI's images interface, as vLLM, LocalAI and others offer it",
    licence="Apache-2.0",
    extra="endpoints",
    parallel=False,
    endpoint="endpoint",
)
def openai_images(
    prompts: Sequence[Prompt],
    seeds: Sequence[int],
    *,
    model: str = "",
    endpoint: str | Endpoint = "",
    size: str = "1024x1024",
    seeded: bool = True,
    options: str = "",
) -> Iterator[GeneratedImage | Failure]:
    """Images made by a model behind an OpenAI-compatible images endpoint.

    `endpoint` is an address such as http://localhost:8000/v1, or a name from study.toml ([endpoint.NAME]).
    Each request holds the image's seed unless `seeded` is False; hosted models may not know it, and are then
    asked without: no seed is stored with such an image. `options` are further fields of a request, as JSON.
    An image by address is fetched from the endpoint's own host alone, or from hosts that `images_from`
    allows. A refusal is a failure; a call that got no answer is made again by the next run.
    """
    if not model:
        raise UsageError("no model is named", remedy="For example model='gpt-image-1'.")
    client = connect(endpoint)
    for prompt, seed in zip(prompts, seeds, strict=True):
        body: dict[str, Any] = {"model": model, "prompt": prompt.text, "n": 1, "size": size}
        if seeded:
            body["seed"] = int(seed)
        drawn = client.image(with_options(body, options))
        if drawn.refusal:
            yield Failure(f"refused: {drawn.refusal}")
            continue
        noted = {"revised_prompt": drawn.revised, "model": drawn.model}
        settings = {name: text for name, text in noted.items() if text}
        yield GeneratedImage(drawn.data, settings, seeded=seeded and client.sends("seed"))
