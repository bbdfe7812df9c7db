"""The engine: one model, one pool, and the verbs prefill, forward, decode and latent."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from agentprim.cache.kv import KV, check_live
from agentprim.engine import decode, load
from agentprim.engine.batch import is_batch, read_ids, read_kvs
from agentprim.engine.latent import Method, Realigner, perturb
from agentprim.engine.sampling import Sampling
from agentprim.errors import VerificationFailed


class Engine:
    """A causal language model of Hugging Face with a pool for its KV caches.

    Every verb takes one input or a list, which runs as one ragged batch. KVs that are passed in are
    never changed. Calls keep no state: an engine may serve many agents and threads.

    Attributes:
        model: The model, prepared by `agentprim.cache.attach`.
        tokenizer: Its tokenizer, or None.
        pool: Where all KVs of this engine live.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer=None,
        *,
        pool_tokens: int = 65536,
        page_size: int = 16,
        latent: Method | None = None,
    ) -> None:
        """Prepare a model and allocate its pool.

        Args:
            model: A causal language model of Hugging Face, in eval mode or not.
            tokenizer: Its tokenizer; None if only ids are used.
            pool_tokens: Tokens that all live KVs together may hold.
            page_size: Tokens in a page.
            latent: How latent steps find the next embedding; see `Realigner`.

        Raises:
            UnsupportedModel: The model's cache has no keys and values per token and layer.
        """
        attachment = attach(model)
        self.model, self.tokenizer = model.eval(), tokenizer
        self.pool = attachment.new_pool(pool_tokens, page_size)
        self.pad_id, self.device = attachment.pad_id, attachment.device
        self._latent, self._realigner = latent, None

    @classmethod
    def from_pretrained(
        cls, name_or_path: str, *, dtype=None, device=None, pool_tokens: int | None = None
    ) -> "Engine":
        """Load a model and its tokenizer by Hugging Face name or path.

        Args:
            name_or_path: A name or a folder; `"smollm2"` is the model of the demo.
            dtype: For example `"bfloat16"`; None takes the model's own on a GPU, fp32 on a CPU.
            device: None takes a GPU where there is one.
            pool_tokens: As in the constructor; default 65536.

        Raises:
            ValueError: There is no such model.
        """
        model, tokenizer = load.from_pretrained(name_or_path, dtype=dtype, device=device)
        return cls(model, tokenizer, pool_tokens=65536 if pool_tokens is None else pool_tokens)

    def encode(self, x, *, fresh: bool = False) -> list[int]:
        """Turn one text, or one list of ids, into ids; `fresh` allows a first BOS."""
        return read_ids(x, self.tokenizer, fresh=fresh)

    @torch.no_grad()
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
        ids, kvs, single = self._rows(x, kv)
        cache = PagedCache(self.model, kv=kvs, absolute=True)
        output = self._run(self.model.base_model, cache, ids, [one.next_position for one in kvs])
        found = [cache.kv(row) for row in range(len(ids))]
        for row, one in enumerate(found):
            one.hidden = output[0][row, -1].clone()
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
        tokens, kvs, _ = self._rows([ids], kv)
        if position_ids is not None and len(position_ids) != len(tokens[0]):
            raise ValueError(
                f"position_ids must have {len(tokens[0])} entries, got {len(position_ids)}"
            )
        cache = PagedCache(self.model, kv=kvs, absolute=True)
        output = self._run(self.model, cache, tokens, [kvs[0].next_position], position_ids)
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
            suffix: Ids to read after the reply, such as the end of a chat turn.
            sampling: Fields of `Sampling`: max_new_tokens, temperature, top_p, top_k, min_p,
                repetition_penalty, seed, stop.

        Returns:
            An `Output` or a list of them; `out.kv` holds everything, reply and suffix included.
        """
        options = Sampling(**sampling)
        ids, kvs, single = self._rows(x, kv)
        emit = None if stream is None else (lambda _, text: stream(text)) if single else stream
        outputs = decode.generate(self, ids, kvs, options, emit=emit, suffix=list(suffix))
        return outputs[0] if single else outputs

    @torch.no_grad()
    def latent(
        self,
        kv: KV | Sequence[KV],
        steps: int = 40,
        *,
        settle: float | None = None,
        spread: float = 0.0,
        seed: int | None = None,
    ):
        """Think without words: feed each last hidden state back as the next input embedding.

        Args:
            kv: A KV, or a list of them that run as one batch.
            steps: Most steps to take; each adds one token without an id. 0 returns a fork.
            settle: Stop a row early when the cosine between two hidden states in a row reaches
                this; None takes all steps.
            spread: Relative size of a random push on the first embedding, so that equal
                starts part ways; 0 is deterministic.
            seed: Of that push.

        Returns:
            A new KV, or a list of them.

        Raises:
            ValueError: A number is out of range, or a KV is empty.
            VerificationFailed: A hidden state is not finite.
        """
        if steps < 0:
            raise ValueError(f"steps must be at least 0, got {steps}")
        kvs = [kv] if isinstance(kv, KV) else list(kv)
        kvs = [check_live(one, "kv", self.pool) for one in kvs]
        found = self._think(kvs, steps, settle, spread, seed) if steps and kvs else None
        found = found or [one.fork() for one in kvs]
        return found[0] if isinstance(kv, KV) else found

    @property
    def realigner(self) -> Realigner:
        """What latent steps use, made on first use."""
        if self._realigner is None:
            self._realigner = Realigner(self.model, self._latent)
        return self._realigner

    def last_hidden(self, kv: KV) -> Tensor:
        """Return the last hidden state of a KV's last token, recomputing that token if needed.

        Raises:
            ValueError: The KV is empty, or its last token is a latent step without a state.
        """
        if kv.hidden is not None:
            return kv.hidden
        if not len(kv) or kv.ids[-1] < 0:
            raise ValueError("kv must end in a token with an id, got a cut or empty KV")
        with self.prefill(kv.ids[-1:], kv[:-1]) as again:
            return again.hidden

    def _think(self, kvs, steps, settle, spread, seed) -> list[KV]:
        hidden = torch.stack([self.last_hidden(one) for one in kvs])
        positions = torch.tensor([one.next_position for one in kvs], device=self.device)
        cache = PagedCache(self.model, kv=kvs, absolute=True)
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        kept: list[tuple[KV, Tensor] | None] = [None] * len(kvs)
        for step in range(steps):
            embedding = self.realigner(hidden)
            if spread and step == 0:
                embedding = perturb(embedding, spread, generator)
            before = hidden
            hidden = self.model.base_model(
                inputs_embeds=embedding[:, None],
                position_ids=(positions + step)[:, None],
                use_cache=True,
                **{load.cache_name(self.model): cache},
            )[0][:, -1]
            if settle is not None:
                near = torch.cosine_similarity(before.float(), hidden.float(), dim=-1) >= settle
                for row in near.nonzero()[:, 0].tolist():
                    kept[row] = kept[row] or (cache.kv(row), hidden[row])
                if all(kept):
                    break
        if not bool(hidden.isfinite().all()):
            raise VerificationFailed(
                f"latent steps must stay finite, got NaN or inf in {steps} steps"
            )
        found = []
        for row in range(len(kvs)):
            one, state = kept[row] or (cache.kv(row), hidden[row])
            one.hidden = state.clone()
            found.append(one)
        return found

    def _rows(self, x, kv) -> tuple[list[list[int]], list[KV], bool]:
        """Read x and kv as rows, and whether the caller passed one of them."""
        single = not is_batch(x)
        xs = [x] if single else list(x)
        kvs = read_kvs(kv, self.pool, len(xs))
        ids = [
            read_ids(one, self.tokenizer, fresh=len(before) == 0, argument="x")
            for one, before in zip(xs, kvs, strict=True)
        ]
        return ids, kvs, single

    def _run(self, module: nn.Module, cache: PagedCache, ids, starts, position_ids=None):
        """Run left-padded ids through a module at absolute positions."""
        width = max(map(len, ids))
        held = [row.length for row in cache.rows]
        past = max(held)
        tokens = torch.full((len(ids), width), self.pad_id)
        positions = torch.zeros_like(tokens)
        mask = torch.zeros(len(ids), past + width, dtype=torch.long)
        for row, (part, start) in enumerate(zip(ids, starts, strict=True)):
            tokens[row, width - len(part) :] = torch.tensor(part)
            where = position_ids if position_ids is not None else range(start, start + len(part))
            positions[row, width - len(part) :] = torch.tensor(list(where))
            mask[row, past + width - held[row] - len(part) :] = 1
        return module(
            input_ids=tokens.to(self.device),
            attention_mask=mask.to(self.device),
            position_ids=positions.to(self.device),
            use_cache=True,
            **{load.cache_name(module): cache},
        )
