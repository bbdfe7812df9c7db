"""Chat turns: split a tokenizer's template into a system part, turns, and the end of a reply."""

from collections.abc import Sequence

Message = dict[str, str]

# contents that no template treats specially; only their place in the rendering matters
_ONE, _TWO, _REPLY = "first probe", "second probe", "probe reply"
_ORDER = "chat_template must render turns one after the other, got another order"


class Chat:
    """Pieces of a chat template that stand alone, so that caches can be put between them.

    A template is read by rendering it: what stands before a user turn is the system part, what a
    later turn adds is a turn, what follows a reply closes it. Pieces joined in order are the
    template's own rendering, where it has a system turn of its own.
    """

    def __init__(self, tokenizer) -> None:
        """Read the template of a tokenizer; one without a template gets plain paragraphs.

        Raises:
            ValueError: The template does not render turns one after the other.
        """
        self._tokenizer = tokenizer
        self._plain = not getattr(tokenizer, "chat_template", None)
        if self._plain:
            self._close, self._open = "\n", []
            start = tokenizer("", add_special_tokens=True)["input_ids"][:1]
            self._bos = start if start == [tokenizer.bos_token_id] else []
            return
        last = self._render([_user(_ONE), _assistant(_REPLY)])
        self._close = last[last.rfind(_REPLY) + len(_REPLY) :]
        self._turn = self._behind([_user(_TWO)])
        if _TWO not in self._turn:
            raise ValueError(_ORDER)
        # some templates begin every turn with the token that their tokenizer calls BOS
        bos = getattr(tokenizer, "bos_token", None) or ""
        alone = bos and last.startswith(bos) and not self._turn.startswith(bos)
        self._bos = self._ids(bos) if alone else []
        self._open = self._opening()

    def system(self, text: str | None) -> list[int]:
        """Return the ids of the system part, the first token (BOS) included.

        A template without a system turn of its own gets the text as a first user turn.

        Args:
            text: The system prompt; None takes what the template puts there by itself.
        """
        if self._plain:
            return [*self._bos, *(self._ids(text + "\n\n") if text else [])]
        if text is None:
            before = self._before([_user(_TWO)])
            return self._bos if before is None else self._ids(before)
        try:
            before = self._before([{"role": "system", "content": text}, _user(_TWO)])
        except Exception:  # templates raise errors of their own for roles that they lack
            before = None
        if before is None or text.strip() not in before:
            before = self._render([_user(text)])
        return self._ids(before)

    def turn(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of turns behind others, up to where the assistant begins to speak.

        Raises:
            ValueError: The template refuses such turns.
        """
        if self._plain:
            return self._ids("".join(f"{m['content']}\n" for m in messages))
        try:
            return self._ids(self._behind(messages, add_generation_prompt=True))
        except Exception as error:  # as above
            roles = [message["role"] for message in messages]
            raise ValueError(
                f"messages must be turns that chat_template renders, got {roles}: {error}"
            ) from error

    def asked(self, messages: Sequence[Message]) -> int:
        """Count the ids of `turn(messages)` that stand before the header of a reply."""
        turn = self.turn(messages)
        bare = turn if self._plain else self._ids(self._behind(messages))
        pairs = enumerate(zip(turn, bare, strict=False))
        return next((place for place, (a, b) in pairs if a != b), min(len(turn), len(bare)))

    def close(self) -> list[int]:
        """Return the ids that end an assistant's turn; some templates have none."""
        return self._ids(self._close)

    def reply_begin(self, ids: list[int], reply_start: int) -> int:
        """Return where the turn of a reply begins: before its header, where that is there.

        Args:
            ids: A text with a reply in it.
            reply_start: Index of the first token of the reply.
        """
        begin = reply_start - len(self._open)
        return begin if begin >= 0 and ids[begin:reply_start] == self._open else reply_start

    def is_bos(self, ids: list[int]) -> bool:
        """Tell whether ids are the first token (BOS) that may stand only at the start of all."""
        return bool(self._bos) and ids == self._bos

    def without_bos(self, ids: list[int]) -> list[int]:
        """Drop a first token (BOS) that may stand only at the start of everything."""
        return ids[1:] if self._bos and ids[:1] == self._bos else ids

    def _opening(self) -> list[int]:
        """Return the ids that open an assistant's turn; some templates have none."""
        asked = self._behind([_user(_TWO)], add_generation_prompt=True)
        return self._ids(asked.removeprefix(self._turn)) if asked.startswith(self._turn) else []

    def _before(self, messages: Sequence[Message]) -> str | None:
        """Render what stands before the last user turn; None if that differs from later ones."""
        rendered = self._render(messages)
        return rendered.removesuffix(self._turn) if rendered.endswith(self._turn) else None

    def _behind(self, messages: Sequence[Message], **options) -> str:
        """Render what messages add behind an answered turn."""
        # an earlier reply may look different from a last one up to its first word (reasoning)
        rendered = self._render([_user(_ONE), _assistant(_REPLY), *messages], **options)
        _, found, behind = rendered.partition(_REPLY)
        if not found or not behind.startswith(self._close):
            raise ValueError(_ORDER)
        return behind.removeprefix(self._close)

    def _render(self, messages: Sequence[Message], **options) -> str:
        return self._tokenizer.apply_chat_template(list(messages), tokenize=False, **options)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}
