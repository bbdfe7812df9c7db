"""Latent steps: turn a last hidden state into the next input embedding, without a token."""

from typing import Literal

import torch
from torch import Tensor, nn

Method = Literal["realign", "softmax"]


class Realigner:
    """Map last hidden states to input embeddings.

    `"realign"` is the closed form of LatentMAS (arXiv 2511.20639): with input embeddings `W_in` and
    output embeddings `W_out`, both `[vocab, d]`,

        W = (W_out^T W_out + 1e-5 I)^-1 W_out^T W_in        e = h W * mean_row_norm(W_in) / |h W|

    With tied embeddings W is close to the identity and leaves the direction of `h` off the
    embeddings; there `"softmax"` takes the expected embedding instead:

        e = softmax(h W_out^T / temperature) W_in

    Both run in fp32.
    """

    def __init__(self, model: nn.Module, method: Method | None = None, temperature: float = 1.0):
        """Prepare for a model; `method=None` takes `"softmax"` where embeddings are tied.

        Raises:
            ValueError: The method is unknown, or the temperature not positive.
        """
        if method not in (None, "realign", "softmax"):
            raise ValueError(f"method must be 'realign' or 'softmax', got {method!r}")
        if temperature <= 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
        tied = inputs.weight.data_ptr() == outputs.weight.data_ptr()
        self.method: Method = method or ("softmax" if tied else "realign")
        self.temperature = temperature
        self._inputs, self._outputs = inputs, outputs
        self._scale = _embedding_scale(inputs)
        self._matrix: Tensor | None = None
        self._norm: Tensor | None = None

    @torch.no_grad()
    def __call__(self, hidden: Tensor) -> Tensor:
        """Map hidden states `[batch, d]` to input embeddings of the same shape and dtype."""
        state = hidden.float()
        if self.method == "softmax":
            logits = self._outputs(hidden).float()
            weights = torch.softmax(logits / self.temperature, dim=-1)
            table = self._inputs.weight
            embedding = (weights.to(table.dtype) @ table).float() * self._scale
        else:
            matrix, norm = self._closed_form()
            embedding = state @ matrix
            length = embedding.norm(dim=-1, keepdim=True).clamp_min(1e-6)
            embedding = embedding * (norm / length)
        return embedding.to(hidden.dtype)

    def _closed_form(self) -> tuple[Tensor, Tensor]:
        if self._matrix is None:
            wo, wi = self._outputs.weight.float(), self._inputs.weight.float() * self._scale
            eye = torch.eye(wo.shape[1], device=wo.device)
            self._matrix = torch.linalg.solve(wo.T @ wo + 1e-5 * eye, wo.T @ wi)
            self._norm = wi.norm(dim=-1).mean()
        return self._matrix, self._norm


def _embedding_scale(embedding: nn.Module) -> float:
    """Find the factor that some embedding modules put on their own rows."""
    row = embedding.weight[:1].detach().float()
    index = torch.zeros(1, 1, dtype=torch.long, device=row.device)
    with torch.no_grad():
        seen = embedding(index)[0].float()
    return float((seen * row).sum() / row.square().sum().clamp_min(1e-30))


def perturb(embedding: Tensor, spread: float, generator: torch.Generator | None) -> Tensor:
    """Move embeddings `[batch, d]` by Gaussian noise of `spread` times their own length."""
    noise = torch.randn(embedding.shape, generator=generator).to(embedding)
    noise = noise / noise.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    return embedding + spread * embedding.norm(dim=-1, keepdim=True) * noise
