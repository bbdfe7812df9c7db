"""The decider: bounded decisions about what is already cached."""

from collections.abc import Sequence

from agentprim.decide import question as ask
from agentprim.decide.backend import Backend
from agentprim.decide.calibration import DEFAULT_THRESHOLD, Calibration
from agentprim.decide.decision import Decision, decide
from agentprim.decide.local import Local
from agentprim.decide.question import Question
from agentprim.engine import Engine
from agentprim.engine.seat import now


class Decider:
    """Answers bounded questions about a state without generating text.

        decider = Decider(engine)
        decider.judge("Is the solution correct?", draft)        # an Output: its cache is read
        decider.choose(["algebra", "geometry"], "Which field is it?", task)

    A state is text, a KV or an `Output`; caches are forked and stay as they are. *Jev-LiteMAS*
    (arXiv 2610.21411) routes and screens by such decisions.

    Attributes:
        calibration: Temperatures and thresholds that were fitted on labelled data, or None.
    """

    def __init__(
        self,
        backend: Engine | Backend,
        *,
        calibration: Calibration | None = None,
        prior: bool = False,
    ) -> None:
        """Choose what decides.

        Args:
            backend: An engine, whose model is read out as in `Local`, or any `Backend`.
            calibration: What `agentprim.decide.fit` found on labelled data.
            prior: Content-free correction, for an engine; see `Local`.

        Raises:
            ValueError: The engine has no tokenizer, or `prior` is asked of another backend.
        """
        if isinstance(backend, Engine):
            backend = Local(backend, prior=prior)
        elif prior:
            raise ValueError("prior must be False for a backend that is no engine, got True")
        self.backend, self.calibration = backend, calibration

    def choose(
        self, options: Sequence[str], question: str, state, *, none: bool = False,
        listed: bool = True,
    ) -> Decision:  # fmt: skip
        """Say which option fits a state; see `agentprim.decide.question.choose`."""
        return self.ask([ask.choose(options, question, none=none, listed=listed)], state)[0]

    def score(self, levels, question: str, state, *, listed: bool = True) -> Decision:
        """Say how high a state ranks; see `agentprim.decide.question.score`."""
        return self.ask([ask.score(levels, question, listed=listed)], state)[0]

    def judge(self, criterion: str, state, *, listed: bool = True) -> Decision:
        """Say how likely a criterion holds; see `agentprim.decide.question.judge`."""
        return self.ask([ask.judge(criterion, listed=listed)], state)[0]

    def ask(self, questions: Sequence[Question], state) -> list[Decision]:
        """Answer several questions about one state, as one batch and each for itself.

        Raises:
            TypeError, ValueError: There is no question, or the state cannot be read.
        """
        questions = list(questions)
        if not questions:
            raise ValueError("questions must have at least one entry, got none")
        begun = now()
        return self._decided(questions, self.backend(state, questions), begun)

    def ask_each(self, asked: Sequence[tuple[Question, object]]) -> list[Decision]:
        """Answer questions about states of their own: pairs of a question and a state.

        An engine answers all as one batch, other backends one after the other.
        """
        begun = now()
        each = getattr(self.backend, "each", None)
        if each is not None:
            found = each([(state, question) for question, state in asked]) if asked else []
        else:
            found = [self.backend(state, [question])[0] for question, state in asked]
        return self._decided([question for question, _ in asked], found, begun)

    def _decided(self, questions: list[Question], found, begun: float) -> list[Decision]:
        seconds = (now() - begun) / max(1, len(questions))
        return [
            decide(
                question.kind,
                dict(zip(question.options, scores.log_probs, strict=True)),
                question.values,
                temperature=self._temperature(question),
                tokens=scores.tokens,
                seconds=seconds,
            )
            for question, scores in zip(questions, found, strict=True)
        ]

    def passes(self, decision: Decision, question: str) -> bool:
        """Tell whether a judgement is sure enough: at the calibrated threshold, else at 0.5."""
        if decision.kind != "judge":
            raise ValueError(f"decision must be of kind 'judge', got {decision.kind!r}")
        return decision.value >= self.threshold(question)

    def threshold(self, question: str) -> float:
        """Return from which probability on a judgement passes."""
        return self.calibration.threshold(question) if self.calibration else DEFAULT_THRESHOLD

    def _temperature(self, question: Question) -> float:
        return self.calibration.temperature(question.text) if self.calibration else 1.0
