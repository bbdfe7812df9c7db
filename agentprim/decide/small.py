"""Decisions by small models of their own: a sequence classifier, or an embedding model."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from agentprim.decide.backend import Scores
from agentprim.decide.question import Question


class Classifier:
    """Scores the labels of a Hugging Face sequence classifier that was trained for them.

    The options of a question must be labels of the model (`config.id2label`); the question and
    the state are read as a pair.
    """

    def __init__(self, model, tokenizer, *, max_tokens: int = 512) -> None:
        """Take a model for sequence classification and its tokenizer.

        Args:
            model: With `config.id2label`.
            tokenizer: Reads pairs of texts.
            max_tokens: Longer states are refused, not cut.
        """
        self.model, self.tokenizer, self.max_tokens = model.eval(), tokenizer, max_tokens
        self.labels = {str(label): int(i) for i, label in model.config.id2label.items()}

    @torch.no_grad()
    def __call__(self, state, questions: Sequence[Question]) -> list[Scores]:
        """Score every option; see `Backend`.

        Raises:
            ValueError: An option is no label of the model, or a state is too long for it.
        """
        for question in questions:
            strangers = [option for option in question.options if option not in self.labels]
            if strangers:
                raise ValueError(f"options must be labels of the model, got {strangers}")
        batch = self.tokenizer(
            [question.text for question in questions], [str(state)] * len(questions),
            padding=True, return_tensors="pt",
        )  # fmt: skip
        counts = batch["attention_mask"].sum(1).tolist()
        if max(counts) > self.max_tokens:
            raise ValueError(
                f"state must have at most {self.max_tokens} tokens with its question, "
                f"got {max(counts)}"
            )
        lines = torch.log_softmax(self.model(**batch.to(self.model.device)).logits.double(), -1)
        return [
            Scores(
                log_probs=tuple(float(line[self.labels[option]]) for option in question.options),
                tokens=count,
            )
            for question, line, count in zip(questions, lines, counts, strict=True)
        ]


class Embedding:
    """Scores options by how near they lie to the state and the question.

    l(option) = cos(embed(question, state), embed(option)) / temperature
    """

    def __init__(
        self, embed: Callable[[list[str]], Tensor], *, temperature: float = 0.05
    ) -> None:  # fmt: skip
        """Take a function from texts to vectors `[n, dim]`.

        Raises:
            ValueError: `temperature` is not positive.
        """
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        self.embed, self.temperature = embed, temperature

    def __call__(self, state, questions: Sequence[Question]) -> list[Scores]:
        """Score every option; see `Backend`. What the embedder counts is not known: 0 tokens."""
        texts = [f"{question.text}\n{state}" for question in questions]
        options = [option for question in questions for option in question.options]
        vectors = torch.as_tensor(self.embed([*texts, *options])).double()
        unit = torch.nn.functional.normalize(vectors, dim=-1)
        found, at = [], len(texts)
        for row, question in enumerate(questions):
            near = unit[at : at + len(question.options)] @ unit[row]
            at += len(question.options)
            found.append(Scores(log_probs=tuple((near / self.temperature).tolist()), tokens=0))
        return found
