"""Hand over T tokens to a receiver with a system prompt of its own, by every way there is.

SmolLM2-135M, fp32, 30 layers of 3 heads of 64 dims. All leave the same keys behind, except
`torch.cat`, which leaves them unturned, and reading the text again, where the sender's tokens have
seen the receiver's prompt: only the keys of the first layer, which see nothing, are the same.
"""

import functools

import pytest
import torch

import agentprim as ap
from agentprim_kernels import rotation
from agentprim_kernels.bench.cases import COMPILED, EAGER
from agentprim_kernels.reference.turn import turn
from bench import hugging_face

TOKENS = (512, 1024, 2048, 4096)
SYSTEM = "You are a critic. Read what others found and name the weakest point of it."
LAZY, IN_PLACE, MATERIALIZE, CAT, READ = (
    "lazy",
    "in place",
    "materialize",
    "torch.cat",
    "re-prefill",
)
PROVIDERS = (LAZY, IN_PLACE, MATERIALIZE, EAGER, COMPILED, CAT, READ)


@pytest.fixture(scope="module")
def engine():
    return ap.Engine.from_pretrained("smollm2", pool_tokens=24576)


@pytest.fixture(scope="module")
def system(engine):
    return engine.prefill(SYSTEM)


@pytest.fixture(scope="module")
def text(engine):
    source = torch.Generator().manual_seed(0)
    return torch.randint(1000, 40000, (max(TOKENS),), generator=source).tolist()


@pytest.fixture(scope="module")
def longest(engine, text):
    return engine.prefill(text)


class HandOver:
    """One receiver's prompt, one sender's cache in pages of its own, and all ways to join them."""

    def __init__(self, engine, system, sender, ids):
        self.model, self.system, self.sender, self.ids = engine.model, system, sender, ids
        self.own, self.by = sender.materialize(), len(system)
        self.joined = self.own.fork()
        self.dense = [hugging_face.pairs(kv.to_cache()) for kv in (system, sender)]
        self.turn = hugging_face.angles(self.model, self.by)
        self.compiled = torch.compile(hugging_face.move_and_cat, dynamic=True)

    def keys(self, result) -> list[torch.Tensor]:
        """Return the keys `[heads, tokens, dim]` of each layer that a provider left."""
        if isinstance(result, ap.KV):
            result = hugging_face.pairs(result.to_cache())
        return [keys[0] for keys, _ in result]

    def work(self, provider: str):
        """Return a call that hands over and returns what the receiver goes on with."""
        by_layer = {EAGER: hugging_face.move_and_cat, COMPILED: self.compiled,
                    CAT: hugging_face.only_cat}  # fmt: skip
        if provider in by_layer:
            return functools.partial(self.layer_by_layer, by_layer[provider])
        return {LAZY: self.lazy, IN_PLACE: self.in_place, MATERIALIZE: self.materialize,
                READ: self.read}[provider]  # fmt: skip

    def lazy(self):
        return ap.join([self.system, self.sender])

    def in_place(self):
        moved = self.own.moved(self.by - self.own.spans[0].start or -self.by)  # to and fro
        for one in (self.own, self.joined):  # only one owner may rotate
            one.release()
        self.own = moved
        self.own.rotate_()
        self.joined = ap.join([self.system, self.own])
        return self.joined

    def materialize(self):
        with ap.join([self.system, self.sender]) as joined:
            return joined.materialize()

    def layer_by_layer(self, join):
        return [join(*layer, *self.turn) for layer in zip(*self.dense, strict=True)]

    def read(self, first: int | None = None):
        _, cache = hugging_face.read(self.model, [*self.system.ids, *self.ids[:first]])
        return hugging_face.pairs(cache)

    def check(self, provider: str) -> None:
        """Compare the keys with the sender's, turned by the reference."""
        rope = self.model.base_model.rotary_emb.inv_freq
        cos, sin = rotation([self.by], rope[None])[0, 0]
        result = self.read(min(TOKENS)) if provider == READ else self.work(provider)()
        have = self.keys(result)
        layers = 1 if provider == READ else len(have)
        for mine, (before, _), (behind, _) in zip(have[:layers], *self.dense, strict=False):
            behind = behind if provider == CAT else turn(behind, cos, sin, interleaved=False)
            want = torch.cat((before, behind), dim=2)[0, :, : mine.shape[1]]
            torch.testing.assert_close(mine, want, rtol=1e-4, atol=1e-3)


@pytest.fixture(scope="module", params=TOKENS)
def case(request, engine, system, text, longest):
    tokens = request.param
    with longest[:tokens] as sender:
        one = HandOver(engine, system, sender, text[:tokens])
        yield one
        one.own.release()
        one.joined.release()


@pytest.mark.parametrize("provider", PROVIDERS)
@torch.no_grad()
def test_handover(measure, case, provider):
    work = case.work(provider)
    once = {"rounds": 1, "warmup": 0} if provider == READ else {}
    measure(
        work, check=lambda: case.check(provider), **once, tokens=len(case.ids), provider=provider,
        receiver=len(case.system),
    )  # fmt: skip
