"""Bad input: one error in the words of the argument, and a pool that is as it was."""

import gc
import pickle

import pytest
import torch

from agentprim import KV, Engine, PoolExhausted
from tests.engine.making import A, B, Q, engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

VERBS = {
    "prefill": lambda one, x, kv=None: one.prefill(x, kv),
    "generate": lambda one, x, kv=None: one.generate(x, kv, max_new_tokens=2),
    "forward": lambda one, x, kv=None: one.forward(x, kv),
}


@pytest.fixture
def intact():
    """Return an engine, and check afterwards that its pool and the caches in it are as before."""
    one = engine()
    kv = one.prefill(B)
    gc.collect()
    free, before = one.pool.num_free, one.forward(Q, kv)
    yield one
    gc.collect()
    assert one.pool.num_free == free
    torch.testing.assert_close(one.forward(Q, kv), before)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ("", ValueError, "x must have at least one token, got ''"),
        ([], ValueError, "x must have at least one token, got none"),
        (torch.tensor([1.0]), TypeError, "x must be text, ids, or a list of them, got Tensor"),
        (None, TypeError, "x must be text, ids, or a list of them, got NoneType"),
        ([5, 97], ValueError, "x must have ids within 0..96, got 97"),
        ([5, -1, 97], ValueError, "x must have ids within 0..96, got -1"),
        ({"a": 1}, TypeError, "x must be text, ids, or a list of them, got dict"),
    ],
)
def test_input_that_is_no_text_and_no_ids(intact, verb, x, error, message):
    with pytest.raises(error) as caught:
        VERBS[verb](intact, x)
    assert str(caught.value) == message


def test_an_empty_row_in_a_batch(intact):
    with pytest.raises(ValueError, match="x must have at least one token"):
        intact.prefill([A, []])


def test_text_for_an_engine_without_a_tokenizer():
    one = Engine(build("qwen3"), pool_tokens=64)
    with pytest.raises(ValueError, match="x must be token ids for an engine without tokenizer"):
        one.prefill("hello")
    with pytest.raises(ValueError, match="stop must be empty for an engine without tokenizer"):
        one.generate(A, max_new_tokens=2, stop=["x"])
    with pytest.raises(ValueError, match="stream must be None for an engine without tokenizer"):
        one.generate(A, max_new_tokens=2, stream=print)


@pytest.mark.parametrize("verb", VERBS)
def test_a_released_cache(intact, verb):
    kv = intact.prefill(A)
    kv.release()
    with pytest.raises(ValueError, match="kv must be live, got a released KV"):
        VERBS[verb](intact, Q, kv)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cache_of_another_engine(intact, verb, dtype):
    other = Engine(build("qwen3", dtype=dtype), pool_tokens=64)
    with pytest.raises(ValueError, match="kv must belong to this pool of Qwen3ForCausalLM"):
        VERBS[verb](intact, Q, other.prefill(A))


@pytest.mark.parametrize("kv", [3, "text", {}])
def test_what_is_no_cache(intact, kv):
    with pytest.raises(TypeError, match="kv must be a KV or a list of them, got"):
        intact.prefill(Q, kv)
    with pytest.raises(TypeError, match="kv must be a KV or a list of them, got"):
        intact.latent(kv)


def test_an_output_where_a_cache_is_meant(intact):
    out = intact.generate(A, max_new_tokens=2)
    with pytest.raises(TypeError, match="kv must be a KV or a list of them, got Output"):
        intact.prefill(Q, out)


def test_another_number_of_caches_than_rows(intact):
    with pytest.raises(ValueError, match="kv must have 2 entries, one for each x, got 1"):
        intact.prefill([A, B], [intact.prefill(Q)])


def test_an_empty_cache_cannot_think(intact):
    with pytest.raises(ValueError, match="kv must end in a token with an id"):
        intact.latent(KV(intact.pool), 1)


def test_another_number_of_positions_than_ids(intact):
    with pytest.raises(ValueError, match="position_ids must have 5 entries, got 2"):
        intact.forward(Q, None, [0, 1])


@pytest.mark.parametrize("verb", VERBS)
def test_a_prompt_longer_than_the_pool(verb):
    one = Engine(build("qwen3"), pool_tokens=40, page_size=4)
    kv = one.prefill(A)
    before = one.forward(Q, kv)
    free = one.pool.num_free
    for x in (A * 4, [Q, A * 4]) if verb != "forward" else (A * 4,):
        with pytest.raises(PoolExhausted, match="pages"):
            VERBS[verb](one, x, kv)
        gc.collect()
        assert one.pool.num_free == free
    torch.testing.assert_close(one.forward(Q, kv), before)


def test_a_reply_or_a_thought_longer_than_the_pool():
    one = Engine(build("qwen3"), pool_tokens=40, page_size=4)
    kv = one.prefill(A)
    free = one.pool.num_free
    for fill in (
        lambda: one.generate(Q, kv, max_new_tokens=40),
        lambda: one.latent(kv, 40),
        lambda: one.latent([kv, kv], 18),
    ):
        with pytest.raises(PoolExhausted):
            fill()
        gc.collect()
        assert one.pool.num_free == free
    assert len(one.generate(Q, kv, max_new_tokens=3).kv) == len(A) + len(Q) + 3


def test_a_model_that_does_not_exist():
    with pytest.raises(ValueError, match="model must be a Hugging Face name or a folder"):
        Engine.from_pretrained("/nowhere/at/all")


def test_a_dtype_that_does_not_exist():
    for dtype in ("float33", 16, "nn"):
        with pytest.raises(ValueError, match="dtype must be a torch dtype or the name of one"):
            Engine.from_pretrained("/nowhere/at/all", dtype=dtype)


def test_an_option_that_does_not_exist(intact):
    with pytest.raises(TypeError, match="max_tokens"):
        intact.generate(A, max_tokens=3)
    with pytest.raises(ValueError, match="latent must be 'realign' or 'softmax', got 'x'"):
        Engine(build("qwen3"), pool_tokens=64, latent="x")


def test_an_output_drops_its_cache_when_pickled_or_changed():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=64)
    out = one.generate(A, max_new_tokens=3)
    twin = pickle.loads(pickle.dumps(out))
    assert twin == out and twin.kv is None and twin.hidden is None
    assert twin.ids == out.ids and twin.finish == out.finish
    assert type(out.upper()) is str and type(str(out)) is str and f"{out}" == str(out)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(out.kv)
