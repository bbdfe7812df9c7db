"""Two agents: one thinks without words, the other answers from what the first has read.

python examples/hand_over.py [model]
"""

import sys

import agentprim as ap

NOTES = "The workshop opens at nine. The spare key lies under the blue flower pot."
QUESTION = "According to the notes, where is the spare key?"


def main(model: str = "smollm2") -> None:
    engine = ap.Engine.from_pretrained(model, pool_tokens=8192)
    reader = ap.Agent(engine, "Read the notes and remember every fact.", name="reader")
    helper = ap.Agent(engine, "Answer in one short sentence.", name="helper", max_new_tokens=24)

    # the reader decodes nothing: its cache is what it hands over
    read = reader.think(NOTES, inner="prefill")
    answer = helper(QUESTION, context=[read])
    print("over its cache:", answer)

    # the text twin: the notes are written into the question and read again
    twin = helper(f"{NOTES}\n\n{QUESTION}")
    print("over text:     ", twin)

    for name, out in (("cache", answer), ("text", twin)):
        u = out.usage
        print(f"{name:6} prefilled {u.prefilled:4} reused {u.reused:4} relocated {u.relocated:4}")


if __name__ == "__main__":
    main(*sys.argv[1:])
