"""Embed texts with the hidden states of an engine's own model."""

from collections.abc import Sequence

import numpy as np
import torch

from agentprim.engine import Engine


class HiddenStates:
    """Mean over the tokens of the last hidden states. No other model is needed."""

    def __init__(self, engine: Engine, most_tokens: int = 256) -> None:
        """Take an engine with a tokenizer; longer texts are cut."""
        self.engine, self._most = engine, most_tokens

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors `[n, hidden_size]`."""
        base, found = self.engine.model.base_model, []
        for text in texts:
            ids = self.engine.encode(text or " ", fresh=True)[: self._most]
            tokens = torch.tensor([ids], device=self.engine.device)
            states = base(
                input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False
            ).last_hidden_state[0]
            found.append(states.float().mean(0).cpu().numpy())
        return np.stack(found)
