"""The engine: one model, one pool, and the verbs prefill, forward, decode, latent and repair."""

import threading
from collections.abc import Callable, Sequence
from weakref import WeakMethod

import torch
from torch import Tensor, nn

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV
from agentprim.engine import load, verbs
from agentprim.engine.batch import list_kvs, read_ids, read_rows
from agentprim.engine.certificate import Certificate
from agentprim.engine.certificates import Shelf
from agentprim.engine.head import Head
from agentprim.engine.latent import Method, Realigner
from agentprim.engine.peek import peek
from agentprim.engine.read import forward, recompute_last
from agentprim.engine.repair import Repair
from agentprim.engine.sampling import Sampling
from agentprim.engine.shards import mesh_of
from agentprim.engine.think import check_steps


class Engine:
    """A causal language model of Hugging Face with a pool for its KV caches.

    Every verb takes one input or a list, which runs as one ragged batch. KVs that are passed in are
    never changed. Calls keep no state: an engine may serve many agents and threads.

    Attributes:
        model: The model, prepared by `agentprim.cache.attach`.
        tokenizer: Its tokenizer, or None.
        vocab_size: Number of ids that the model knows.
        mesh: Of the processes that hold the model together; None where this one has all of it.
        pool: Where all KVs of this engine live.
        shelf: Where its certificate is found.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer=None,
        *,
        pool_tokens: int = 65536,
        page_size: int = 16,
        latent: Method | None = None,
        latent_temperature: float = 0.5,
    ) -> None:
        """Prepare a model and allocate its pool.

        Args:
            model: A causal language model of Hugging Face, in eval mode or not.
            tokenizer: Its tokenizer; None if only ids are used.
            pool_tokens: Tokens that all live KVs together may hold.
            page_size: Tokens in a page.
            latent: How latent steps find the next embedding; see `Realigner`.
            latent_temperature: Of the expected embedding (`latent="softmax"`).

        Raises:
            ValueError: A size or a name is out of range.
            UnsupportedModel: The model's cache has no keys and values per token and layer.
        """
        if latent not in (None, "realign", "softmax"):
            raise ValueError(f"latent must be 'realign' or 'softmax', got {latent!r}")
        if not latent_temperature > 0:
            raise ValueError(f"latent_temperature must be positive, got {latent_temperature}")
        attachment = attach(model)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.vocab_size = model.get_input_embeddings().weight.shape[0]
        self.mesh = mesh_of(model)
        self.pool = attachment.new_pool(pool_tokens, page_size)
        self.pad_id, self.device = attachment.pad_id, attachment.device
        self.pool.reader = WeakMethod(self._peek)
        self._lock = threading.Lock()
        self._latent = (latent, latent_temperature)
        self._realigner, self._head = None, None
        self.shelf = Shelf(model, str(self.pool.layout.shapes[0].dtype).removeprefix("torch."))

    @classmethod
    def from_pretrained(
        cls, name_or_path: str, *, dtype=None, device=None, pool_tokens: int | None = None,
        device_map=None, tp_plan=None,
    ) -> "Engine":  # fmt: skip
        """Load a model and its tokenizer by Hugging Face name or path.

        Args:
            name_or_path: A name or a folder; `"smollm2"` is the model of the demo.
            dtype: For example `"bfloat16"`; None takes the model's own on a GPU, fp32 on a CPU.
            device: None takes a GPU where there is one.
            pool_tokens: As in the constructor; default 65536.
            device_map, tp_plan: For a model that is too big for one GPU, as in transformers: its
                layers on several devices (`"auto"`; needs accelerate), or tensor parallelism of
                several processes (`"auto"`, or a plan of module names, under torchrun). All of
                these must make the same calls, with seeds and without limits in seconds.

        Raises:
            ValueError: There is no such model or dtype, or it cannot be placed so.
        """
        model, tokenizer = load.from_pretrained(
            name_or_path, dtype=dtype, device=device, device_map=device_map, tp_plan=tp_plan
        )
        return cls(model, tokenizer, pool_tokens=65536 if pool_tokens is None else pool_tokens)

    def encode(self, x, *, fresh: bool = False) -> list[int]:
        """Turn one text, or one list of ids, into ids; `fresh` allows a first BOS."""
        return read_ids(x, self.tokenizer, fresh=fresh, vocab=self.vocab_size)

    def prefill(self, x, kv: KV | Sequence[KV] | None = None):
        """Read tokens behind a KV.

        Args:
            x: Text, ids, or a list of them.
            kv: What stands before: one KV for all, one for each of a list, or None.

        Returns:
            A new KV, or a list of them; each keeps the last hidden state of its last token.

        Raises:
            TypeError, ValueError: `x` is empty or of another type, or a KV is not usable here.
            PoolExhausted: The pool is too small; nothing has changed.
        """
        ids, kvs, single = read_rows(self, x, kv)
        found = verbs.prefill(self, ids, kvs)
        return found[0] if single else found

    @torch.no_grad()
    def forward(
        self, ids, kv: KV | None = None, position_ids: Sequence[int] | None = None
    ) -> Tensor:
        """Run tokens behind a KV without keeping them.

        Args:
            ids: Text or ids of one sequence.
            kv: What stands before, or None.
            position_ids: Current position of each id; consecutive behind the KV by default.

        Returns:
            Logits fp32 `[len(ids), vocab]`.
        """
        tokens, kvs, _ = read_rows(self, [ids], kv)
        if position_ids is not None and len(position_ids) != len(tokens[0]):
            raise ValueError(
                f"position_ids must have {len(tokens[0])} entries, got {len(position_ids)}"
            )
        cache = PagedCache(self.model, kv=kvs, absolute=True)
        output = forward(self, self.model, cache, tokens, kvs, position_ids)
        return output.logits[0].float()

    def generate(
        self,
        x,
        kv: KV | Sequence[KV] | None = None,
        *,
        stream: Callable | None = None,
        suffix: Sequence[int] = (),
        **sampling,
    ):
        """Read tokens behind a KV, then decode text.

        Args:
            x: Text, ids, or a list of them.
            kv: As in `prefill`.
            stream: Called with each piece of text as it comes; with `(row, text)` for a list.
            suffix: Ids to read after the reply, such as the end of a chat turn; an end token
                said before it gives way to it.
            sampling: Fields of `Sampling`: max_new_tokens, temperature, top_p, top_k, min_p,
                repetition_penalty, seed, stop.

        Returns:
            An `Output` or a list of them; `out.kv` holds everything, reply and suffix included.
        """
        options = Sampling(**sampling)
        ids, kvs, single = read_rows(self, x, kv)
        if stream is not None and self.tokenizer is None:
            raise ValueError("stream must be None for an engine without tokenizer, got a function")
        emit = None if stream is None else (lambda _, text: stream(text)) if single else stream
        outputs = verbs.generate(self, ids, kvs, options, emit, list(suffix))
        return outputs[0] if single else outputs

    def latent(
        self,
        kv: KV | Sequence[KV],
        steps: int = 40,
        *,
        settle: float | None = None,
        spread: float = 0.0,
        seed: int | Sequence[int] | None = None,
    ):
        """Think without words: feed each last hidden state back as the next input embedding.

        Args:
            kv: A KV, or a list of them that run as one batch.
            steps: Most steps to take; each adds one token without an id. 0 returns a fork.
            settle: Stop a row early when the cosine between two hidden states in a row reaches
                this; None takes all steps.
            spread: Relative size of a random push on the first embedding, so that equal
                starts part ways; 0 is deterministic.
            seed: Of that push, as in `Sampling`.

        Returns:
            A new KV, or a list of them; each keeps its last hidden state.

        Raises:
            ValueError: A number is out of range, or a KV is empty.
            VerificationFailed: A hidden state is not finite.
        """
        check_steps(steps, settle, spread)
        kvs = list_kvs(kv, self.pool)
        if steps and kvs:
            found = verbs.latent(self, kvs, steps, settle=settle, spread=spread, seed=seed)
        else:
            found = [one.fork() for one in kvs]
        return found[0] if isinstance(kv, KV) else found

    @property
    def certificate(self) -> Certificate | None:
        """What `agentprim.verify` found out about this model; None before it ran."""
        return self.shelf.find()

    def repair(
        self,
        kv: KV | Sequence[KV],
        *,
        first: int = 16,
        share: float = 0.15,
        layer: int = 1,
        measure: str = "values",
    ):
        """Recompute some joined tokens where they now stand, with all before them in sight.

        The parts of a joined KV never saw each other. The first part is never recomputed; of the
        later ones the first tokens of each, and the tokens that deviate most, run as one prefill
        at their positions. They see the stored keys of the others. Tokens without an id (latent
        steps) stay as they are. With all of them recomputed the KV equals one text.

        Args:
            kv: A KV made by `join`, or a list of them that run as one batch; not changed.
            first: Tokens at the start of each joined part.
            share: Share of all joined tokens, picked by how far they are off.
            layer: Where that is measured, after a run of all joined tokens up to this layer.
            measure: What is compared: `"values"` or `"keys"`.

        Returns:
            A new KV with the same tokens, or a list of them; new keys are in private pages.

        Raises:
            TypeError, ValueError: A number is out of range, or a KV is not usable here.
            UnsupportedModel: The model cannot compute tokens between stored ones.
            PoolExhausted: The pool is too small; nothing has changed.
        """
        how = Repair(first=first, share=share, layer=layer, measure=measure)
        found = [one.kv for one in verbs.repair(self, list_kvs(kv, self.pool), how)]
        return found[0] if isinstance(kv, KV) else found

    @property
    def realigner(self) -> Realigner:
        """What latent steps use, made on first use."""
        with self._lock:
            if self._realigner is None:
                self._realigner = Realigner(self.model, *self._latent)
            return self._realigner

    def logits(self, hidden: Tensor) -> Tensor:
        """Return next-token logits, fp32 `[..., vocab]`, of last hidden states.

        Raises:
            ValueError: The model does not compute its logits from them alone.
        """
        with self._lock:
            self._head = self._head or Head(self.model)
        return self._head(hidden)

    def last_hidden(self, kv: KV) -> Tensor:
        """Return the last hidden state of a KV's last token, recomputing that token if needed.

        Raises:
            ValueError: The KV is empty, or its last token is a latent step without a state.
        """
        if kv.hidden is not None:
            return kv.hidden
        if not len(kv) or kv.ids[-1] < 0:
            raise ValueError("kv must end in a token with an id, got a cut or empty KV")
        return recompute_last(self, kv)

    def _peek(self, kv: KV, n: int) -> str:
        return peek(self, kv, n)
