"""A tiny engine whose tokenizer grammars can read: one id a byte."""

from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from agentprim import Engine
from tests.support.tiny import build
from tests.support.tokenizer import CHATML, END, PAD, TURN


def byte_engine(pool_tokens: int = 16384) -> Engine:
    """Build an engine with a pool of its own; its weights are the same each time."""
    tokens = [PAD, TURN, END, *sorted(ByteLevel.alphabet())]
    core = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, []))
    core.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = Decoder()
    core.add_special_tokens([PAD, TURN, END])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=PAD, eos_token=END, extra_special_tokens=[TURN],
        clean_up_tokenization_spaces=False, chat_template=CHATML,
    )  # fmt: skip
    model = build("llama", vocab_size=len(tokens), max_position_embeddings=8192)
    return Engine(model, tokenizer, pool_tokens=pool_tokens, page_size=16)
