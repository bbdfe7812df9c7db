"""Chat turns: split a tokenizer's template into a system part, turns, and the end of a reply."""

from collections.abc import Sequence

Message = dict[str, str]

# contents that no template treats specially; only their place in the rendering matters
_ONE, _TWO, _REPLY = "first probe", "second probe", "probe reply"


class Chat:
    """Pieces of a chat template that stand alone, so that caches can be put between them.

    A template is read by rendering it: what stands before a user turn is the system part, what a
    later turn adds is a turn, what follows a reply closes it. Pieces joined in order are the
    template's own rendering.
    """

    def __init__(self, tokenizer) -> None:
        """Read the template of a tokenizer; one without a template gets plain paragraphs."""
        self._tokenizer = tokenizer
        self._plain = not getattr(tokenizer, "chat_template", None)
        if self._plain:
            self._close = "\n"
            return
        self._before = self._render([_user(_ONE), _assistant(_REPLY)])
        self._close = self._before[self._before.rindex(_REPLY) + len(_REPLY) :]
        self._turn = self._tail([_user(_TWO)])

    def system(self, text: str | None) -> list[int]:
        """Return the ids of the system part, the tokenizer's first token (BOS) included.

        A template without a system turn of its own gets the text as a first user turn.

        Args:
            text: The system prompt; None takes what the template puts there by itself.
        """
        if self._plain:
            return self._bos() + (self._ids(text + "\n\n") if text else [])
        head = [{"role": "system", "content": text}] if text is not None else []
        try:
            rendered = self._render([*head, _user(_TWO)])
        except Exception as error:  # templates raise errors of their own for roles they lack
            if not head:
                raise ValueError(f"chat_template must render a user turn, got {error}") from error
            rendered = ""
        if rendered.endswith(self._turn):
            return self._ids(rendered[: len(rendered) - len(self._turn)])
        return self._ids(self._render([_user(text)])) if head else []

    def turn(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of turns behind others, up to where the assistant begins to speak."""
        if self._plain:
            return self._ids("".join(f"{m['content']}\n" for m in messages))
        return self._ids(self._tail(messages, add_generation_prompt=True))

    def close(self) -> list[int]:
        """Return the ids that end an assistant's turn."""
        return self._ids(self._close)

    def without_bos(self, ids: list[int]) -> list[int]:
        """Drop a first token (BOS) that may stand only at the start of everything."""
        bos = self._bos()
        return ids[1:] if bos and ids[:1] == bos else ids

    def _bos(self) -> list[int]:
        """Return the token that the tokenizer itself puts in front of a text, if any."""
        start = self._tokenizer("", add_special_tokens=True)["input_ids"][:1]
        return start if start == [self._tokenizer.bos_token_id] else []

    def _tail(self, messages: Sequence[Message], **options) -> str:
        before = [_user(_ONE), _assistant(_REPLY)]
        rendered = self._render([*before, *messages], **options)
        if not rendered.startswith(self._before):
            raise ValueError(
                "chat_template must render turns one after the other, got another order"
            )
        return rendered[len(self._before) :]

    def _render(self, messages: Sequence[Message], **options) -> str:
        return self._tokenizer.apply_chat_template(list(messages), tokenize=False, **options)

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}
