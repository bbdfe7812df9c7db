"""The head: next-token logits from a last hidden state, as the model itself computes them."""

import torch
from torch import Tensor, nn

from agentprim.rope.forward import probe_ids


class Head:
    """Map last hidden states to logits: the output embeddings, and what a model does behind them.

    Some models scale their logits (Cohere, Granite), some cap them, `c * tanh(logits / c)` (Gemma
    2). Which one it is gets read from a short run of the model and is not believed otherwise.
    """

    def __init__(self, model: nn.Module) -> None:
        """Find out by running a few tokens.

        Raises:
            ValueError: The model has no output embeddings, or does something else behind them.
        """
        self._output = output_embeddings(model)
        config = model.config.get_text_config()
        with torch.no_grad():
            ids = probe_ids(model)
            plain = self._output(model.base_model(input_ids=ids)[0]).float()
            real = model(input_ids=ids).logits.float()
        self._scale = float((plain * real).sum() / plain.square().sum().clamp_min(1e-30))
        self._cap = getattr(config, "final_logit_softcapping", None)
        if self._cap:
            self._scale = 1.0
        tolerance = max(1e-4, 16 * torch.finfo(self._output.weight.dtype).eps)
        if (self._behind(plain) - real).abs().max() > tolerance * real.abs().max():
            raise ValueError(
                "model must give its logits by its output embeddings, scaled or capped, got "
                f"others from {type(model).__name__}"
            )

    @torch.no_grad()
    def __call__(self, hidden: Tensor) -> Tensor:
        """Map `[..., hidden_size]` to logits fp32 `[..., vocab]`."""
        weight = self._output.weight
        return self._behind(self._output(hidden.to(weight.device, weight.dtype)).float())

    def _behind(self, logits: Tensor) -> Tensor:
        logits = logits * self._scale
        return self._cap * torch.tanh(logits / self._cap) if self._cap else logits


def output_embeddings(model: nn.Module) -> nn.Module:
    """Return the module that turns a last hidden state into logits.

    Raises:
        ValueError: The model has none.
    """
    found = model.get_output_embeddings()
    if found is None:
        raise ValueError(f"model must have output embeddings, got none in {type(model).__name__}")
    return found
