"""Other backends answer the same questions: small models, and a service over HTTP."""

import time

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from agentprim.decide import Decider, choose, judge, score
from agentprim.decide.remote import DecisionServiceError, Remote
from agentprim.decide.small import Classifier, Embedding
from tests.support.server import serving
from tests.support.tokenizer import tiny_tokenizer

QUESTIONS = [choose(["red", "blue"], "which?"), judge("is it?"), score(range(3), "how much?")]


ANSWERS = {
    "answers": {
        "0": {"probabilities": {"red": 0.25, "blue": 0.75}},
        "1": {"probability": 0.9},
        "2": {"probabilities": {"0": 0.5, "1": 0.0, "2": 0.5}},
    }
}


def test_a_service_is_asked_typed_questions_and_believed():
    with serving(ANSWERS) as (url, seen):
        decider = Decider(Remote(url, model="pinned-1", api_key="secret"))
        which, holds, much = decider.ask(QUESTIONS, "a state")
    body = seen[0]
    assert {k.lower(): v for k, v in body["headers"].items()}["authorization"] == "Bearer secret"
    assert body["model"] == "pinned-1" and body["state"] == "a state"
    assert [body["questions"][str(i)]["type"] for i in range(3)] == ["choice", "noul", "score"]
    assert which.probabilities == pytest.approx({"red": 0.25, "blue": 0.75})
    assert holds.value == pytest.approx(0.9)
    assert much.value == pytest.approx(1.0)


def test_a_busy_service_is_asked_again_and_no_more_often_than_said():
    with serving((503, {}), (429, {}), ANSWERS) as (url, seen):
        Decider(Remote(url, pause=0)).ask(QUESTIONS, "a state")
        assert len(seen) == 3
    with serving((503, {})) as (url, seen):
        with pytest.raises(DecisionServiceError, match="within 2 attempts, got status 503"):
            Decider(Remote(url, retries=1, pause=0)).ask(QUESTIONS, "a state")
        assert len(seen) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((401, {}), "status 401"),
        ((200, b"not json"), "JSON that has answers"),
        ((200, {"other": 1}), "JSON that has answers"),
        ((200, {"answers": {}}), "a probability for each option"),
        ((200, {"answers": {"0": {"probabilities": {"red": 1.0}}}}), "a probability for each"),
        ((200, {"answers": {"0": {"probabilities": {"red": 3, "blue": 0}}}}), "within 0..1"),
    ],
)
def test_a_wrong_answer_is_one_clear_error_and_is_not_asked_for_again(reply, message):
    with serving(reply) as (url, seen):
        with pytest.raises(DecisionServiceError, match=message):
            Decider(Remote(url, pause=0)).ask(QUESTIONS[:1], "a state")
        assert len(seen) == 1


def test_a_service_that_hangs_or_is_not_there_ends_in_time():
    with serving(lambda sent: time.sleep(1) or ANSWERS) as (url, _):
        with pytest.raises(DecisionServiceError, match="within 1 attempts"):
            Decider(Remote(url, timeout=0.1, retries=0)).ask(QUESTIONS, "a state")
    with pytest.raises(DecisionServiceError, match="within 1 attempts"):
        Decider(Remote("http://127.0.0.1:9/", retries=0)).ask(QUESTIONS, "a state")


def test_a_classifier_scores_its_labels():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=97, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, num_labels=3, id2label={0: "red", 1: "green", 2: "blue"},
        label2id={"red": 0, "green": 1, "blue": 2}, initializer_range=0.5,
    )  # fmt: skip
    model = BertForSequenceClassification(config).eval()
    decider = Decider(Classifier(model, tiny_tokenizer(), max_tokens=40))
    one = decider.choose(["red", "blue"], "which?", "a state")
    line = torch.softmax(
        model(**tiny_tokenizer()("which?", "a state", return_tensors="pt")).logits, -1
    )
    red, _, blue = line[0].tolist()
    assert one.probabilities["red"] == pytest.approx(red / (red + blue), abs=1e-5)
    assert one.tokens == len("which?a state")
    with pytest.raises(ValueError, match="labels of the model"):
        decider.choose(["red", "pink"], "which?", "a state")
    with pytest.raises(ValueError, match="at most 40 tokens"):
        decider.choose(["red", "blue"], "which?", "a state" * 9)


def test_an_embedding_model_takes_the_nearest_option():
    places = {"red": [1.0, 0.0], "blue": [0.0, 1.0], "which?\nsky": [0.1, 0.9]}
    decider = Decider(Embedding(lambda texts: [places[text] for text in texts]))
    assert decider.choose(["red", "blue"], "which?", "sky").choice == "blue"


def test_a_prior_needs_an_engine():
    with pytest.raises(ValueError, match="prior must be False"):
        Decider(Embedding(lambda texts: texts), prior=True)
