"""Chat templates of the kinds that are about, written for the tests, on tiny tokenizers."""

from tests.support.tokenizer import CHATML, tiny_tokenizer

GENERATE = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TURNS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
)
DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}"
    + TURNS + GENERATE
)  # fmt: skip
STRIPPED = TURNS.replace("m['content']", "m['content'] | trim") + GENERATE
WITH_BOS = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}: {{ m['content'] | trim }}"
    "<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}"
)
BOS_IS_A_TURN = DEFAULT_SYSTEM  # and the tokenizer calls <|im_start|> its BOS
REASONING = (
    "{% set ns = namespace(last=-1) %}"
    "{% for m in messages %}{% if m['role'] == 'user' %}{% set ns.last = loop.index0 %}{% endif %}"
    "{% endfor %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['role'] == 'assistant' and loop.index0 > ns.last %}<think>\n\n</think>\n\n{% endif %}"
    "{% if m['role'] == 'assistant' %}{{ m['content'].split('</think>')[-1] }}"
    "{% else %}{{ m['content'] }}{% endif %}<|im_end|>\n{% endfor %}" + GENERATE
)
LAST_WITHOUT_NEWLINE = (
    "{% for m in messages %}{% if not loop.first %}\n{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}\n<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{{ bos_token }}" + TURNS + GENERATE
)
ALTERNATING = (
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}" + TURNS + GENERATE
)
IGNORES_SYSTEM = (
    "{% for m in messages if m['role'] != 'system' %}<|im_start|>{{ m['role'] }}\n"
    "{{ m['content'] }}<|im_end|>\n{% endfor %}" + GENERATE
)
MERGES_SYSTEM = (
    "{{ bos_token }}{% set ns = namespace(text='') %}"
    "{% if messages[0]['role'] == 'system' %}{% set ns.text = messages[0]['content'] + '\n\n' %}"
    "{% endif %}"
    "{% for m in messages if m['role'] != 'system' %}<|im_start|>{{ m['role'] }}\n"
    "{% if loop.first %}{{ ns.text }}{% endif %}{{ m['content'] }}<|im_end|>\n{% endfor %}"
    + GENERATE
)  # fmt: skip
NO_CLOSE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}"
    "{% if m['role'] == 'user' %}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
BACKWARDS = (
    "{% for m in messages[::-1] %}<|im_start|>{{ m['role'] }} {{ m['content'] }}<|im_end|>"
    "{% endfor %}"
)

SEPARATE = {
    "chatml": CHATML, "default_system": DEFAULT_SYSTEM, "stripped": STRIPPED, "bos": WITH_BOS,
    "bos_is_a_turn": BOS_IS_A_TURN, "reasoning": REASONING, "between": LAST_WITHOUT_NEWLINE,
    "no_close": NO_CLOSE,
}  # fmt: skip
WITHOUT = {
    "refused": NO_SYSTEM, "alternating": ALTERNATING, "ignored": IGNORES_SYSTEM,
    "merged": MERGES_SYSTEM,
}  # fmt: skip


def tokenizer(name: str):
    """Build the tiny tokenizer with one of the templates; `bos_token` is one id of its own."""
    found = tiny_tokenizer()
    found.chat_template = {**SEPARATE, **WITHOUT}[name]
    found.bos_token = "<|im_start|>" if name == "bos_is_a_turn" else "#"
    return found
