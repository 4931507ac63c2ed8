"""Loads a model into Ollama, to learn how much context it gets: Ollama decides that when it loads the model."""

import asyncio
import json
from contextlib import suppress

from .model_list import loaded_windows
from .short_question import reply_of
from .survey import root_of


async def loaded_window(base_url: str, api_key: str | None, model: str, *, within: float) -> int | None:
    """The context of this model in tokens, after it was loaded as its first turn would do; None if that is unknown.

    A prompt would be answered; without one, the model is only loaded. A loaded one stays as it is.
    """
    root = root_of(base_url)
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await reply_of(f"{root}/api/generate", api_key, json.dumps({"model": model, "stream": False}).encode())
            return loaded_windows((await reply_of(f"{root}/api/ps", api_key)).body).get(model)
    return None
