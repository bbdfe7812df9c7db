"""A tokenizer of characters with a ChatML template, small enough for the tiny models."""

import string

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast

PAD, TURN, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# what a small vocabulary leaves out stands last
CHARACTERS = "? \n" + string.ascii_letters + string.digits + ".,:;!'\"()[]{}<>|+-*/=_#%&@$\\~^`\t\r"


def tiny_tokenizer(vocab_size: int = 97) -> PreTrainedTokenizerFast:
    """Build a tokenizer of one id a character; ids 0 to 2 are pad, start and end of a turn.

    Args:
        vocab_size: Ids, at most; characters that find no room are read as `?`.

    Raises:
        ValueError: There is no room for letters and digits.
    """
    if vocab_size < 68:
        raise ValueError(f"vocab_size must be at least 68, got {vocab_size}")
    vocabulary = {token: i for i, token in enumerate([PAD, TURN, END, *CHARACTERS][:vocab_size])}
    core = Tokenizer(WordLevel(vocabulary, unk_token="?"))
    core.pre_tokenizer = Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = Fuse()
    core.add_special_tokens([PAD, TURN, END])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=END,
        unk_token="?",
        extra_special_tokens=[TURN],
        clean_up_tokenization_spaces=False,
        chat_template=CHATML,
    )
