"""Chat: pieces joined in order are the template's own rendering."""

import pytest
from tokenizers.normalizers import Prepend

from agentprim.engine.chat import Chat
from tests.engine.templates import BACKWARDS, SEPARATE, WITHOUT, tokenizer
from tests.support.tokenizer import tiny_tokenizer


def _user(text):
    return {"role": "user", "content": text}


def _assistant(text):
    return {"role": "assistant", "content": text}


def _system(text):
    return {"role": "system", "content": text}


def _render(tok, messages, generate=True):
    text = tok.apply_chat_template(messages, tokenize=False, add_generation_prompt=generate)
    return tok(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("name", SEPARATE)
@pytest.mark.parametrize("system", ["Solve it.", " spaced \n", None])
def test_pieces_in_order_are_the_rendering(name, system):
    tok = tokenizer(name)
    chat = Chat(tok)
    head = [] if system is None else [_system(system)]
    one = [*chat.system(system), *chat.turn([_user("first question")])]
    assert one == _render(tok, [*head, _user("first question")])
    reply = tok("an answer", add_special_tokens=False)["input_ids"]
    two = [*one, *reply, *chat.close(), *chat.turn([_user("second question")])]
    messages = [*head, _user("first question"), _assistant("an answer"), _user("second question")]
    assert two == _render(tok, messages)


@pytest.mark.parametrize("name", SEPARATE)
def test_a_turn_may_hold_earlier_turns(name):
    tok = tokenizer(name)
    chat = Chat(tok)
    turns = [_user("a"), _assistant("b"), _user("c")]
    found = [*chat.system("s"), *chat.turn(turns)]
    assert found == _render(tok, [_system("s"), *turns])


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_system_turn_the_text_is_a_first_user_turn(name):
    tok = tokenizer(name)
    chat = Chat(tok)
    assert chat.system("Solve it.") == _render(tok, [_user("Solve it.")], generate=False)
    question = [_user("q")]
    assert [*chat.system(None), *chat.turn(question)] == _render(tok, question)


@pytest.mark.parametrize("name", [*SEPARATE, *WITHOUT])
def test_a_first_token_stands_once_and_can_be_dropped(name):
    tok = tokenizer(name)
    chat, bos = Chat(tok), tok.convert_tokens_to_ids("#")
    alone = name in ("bos", "refused", "merged")
    ids = chat.system("Solve it.")
    assert ids.count(bos) == (1 if alone else 0)
    assert chat.without_bos(ids) == (ids[1:] if alone else ids)
    assert bos not in chat.turn([_user("q")]) + chat.close()


def test_a_tokenizer_without_a_template_gets_paragraphs():
    tok = tiny_tokenizer()
    tok.chat_template = None
    chat = Chat(tok)
    text = tok.decode([*chat.system("Be good."), *chat.turn([_user("q")]), *chat.close()])
    assert text == "Be good.\n\nq\n\n" and chat.system(None) == []


def test_a_template_that_reorders_turns_is_refused():
    tok = tiny_tokenizer()
    tok.chat_template = BACKWARDS
    with pytest.raises(ValueError, match="chat_template must render turns one after the other"):
        Chat(tok)


def test_turns_that_a_template_refuses_are_named():
    chat = Chat(tokenizer("alternating"))
    with pytest.raises(ValueError, match=r"chat_template renders, got \['assistant'\]: roles must"):
        chat.turn([_assistant("a")])


@pytest.mark.parametrize("prepended", [False, True], ids=["plain", "prepended"])
@pytest.mark.parametrize("name", [*SEPARATE, *WITHOUT, None])
def test_what_was_asked_ends_before_the_header_of_a_reply(name, prepended):
    """Some tokenizers put a sign in front of all text, so a header alone has other ids."""
    tok = tiny_tokenizer() if name is None else tokenizer(name)
    if name is None:
        tok.chat_template = None
    if prepended:
        tok.backend_tokenizer.normalizer = Prepend("_")
    chat, messages = Chat(tok), [_user("why?")]
    turn = chat.turn(messages)
    asked = tok.decode(turn[: chat.asked(messages)])
    assert "why?" in asked and "assistant" not in asked
    assert tok.decode(turn[chat.asked(messages) :]).count("assistant") == (name is not None)
