"""What a model says aloud: its reply without the reasoning before it."""

import re

TAG = re.compile(r"<(/?)(think|thinking|thought|thoughts|reasoning|analysis|reflection)>", re.I)


def aloud(text: str) -> str:
    """Return what stands behind the last closing tag of reasoning; all of a text without one.

    Only closing tags count, since some chat templates open the reasoning in the prompt. So of a
    reply that was cut off while the model reasoned, all is returned.
    """
    ends = [tag.end() for tag in TAG.finditer(text) if tag[1]]
    return text[ends[-1] :] if ends else text
