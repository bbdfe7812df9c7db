"""A remote decision service over HTTP: state and typed questions in, probabilities out."""

import math
import time
from collections.abc import Sequence

from agentprim.decide.backend import Scores
from agentprim.decide.question import Question
from agentprim.errors import AgentPrimError

TYPES = {"judge": "noul", "choose": "choice", "score": "score"}
AGAIN = {429, 500, 502, 503, 504}


class DecisionServiceError(AgentPrimError):
    """A remote decision service did not answer, or answered something else."""


class Remote:
    """Ask a decision service over HTTP.

    It is sent

        {"model": ..., "state": "...", "questions": {"0": {"type": "choice",
         "instructions": "...", "options": ["...", ...]}, ...}}

    and answers `{"answers": {"0": {"probabilities": {"<option>": p, ...}}, ...}}`; a yes/no
    question (`"noul"`) may also be answered by `{"probability": p}`. Nothing here asks a service
    unless it is made by hand. States are sent as text and leave this machine.
    """

    def __init__(
        self, url: str, *, model: str | None = None, api_key: str | None = None,
        timeout: float = 10.0, retries: int = 2, pause: float = 0.5,
    ) -> None:  # fmt: skip
        """Name a service.

        Args:
            url: Where questions are posted.
            model: Which of its models answers; pin a version.
            api_key: Sent as a bearer token.
            timeout: Seconds for one attempt.
            retries: Attempts after the first, on timeouts, broken connections and status 429 or
                5xx.
            pause: Seconds before the first retry; doubled each time.

        Raises:
            ValueError: A number is out of range.
        """
        if not timeout > 0 or retries < 0 or pause < 0:
            raise ValueError(
                f"timeout must be positive, retries and pause at least 0, "
                f"got {timeout}, {retries}, {pause}"
            )
        self.url, self.model, self.timeout = url, model, timeout
        self.retries, self.pause = retries, pause
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def __call__(self, state, questions: Sequence[Question]) -> list[Scores]:
        """Score every option; see `Backend`. Tokens are the service's own affair: 0.

        Raises:
            DecisionServiceError: No usable answer came.
        """
        asked = {
            str(number): {
                "type": TYPES[question.kind], "instructions": question.text,
                "options": list(question.options),
            }
            for number, question in enumerate(questions)
        }  # fmt: skip
        answers = self._post({"model": self.model, "state": str(state), "questions": asked})
        return [
            _scores(question, answers.get(str(number))) for number, question in enumerate(questions)
        ]

    def _post(self, body: dict) -> dict:
        import httpx2

        fault = ""
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                reply = httpx2.post(
                    self.url, json=body, headers=self._headers, timeout=self.timeout
                )
            except httpx2.TransportError as error:
                fault = str(error) or type(error).__name__
                continue
            if reply.status_code in AGAIN:
                fault = f"status {reply.status_code}"
                continue
            if reply.status_code != 200:
                raise DecisionServiceError(f"service must answer, got status {reply.status_code}")
            try:
                return dict(reply.json()["answers"])
            except (KeyError, TypeError, ValueError) as error:
                raise DecisionServiceError(
                    "service must answer with JSON that has answers, got something else"
                ) from error
        raise DecisionServiceError(
            f"service must answer within {self.retries + 1} attempts, got {fault}"
        )


def _scores(question: Question, answer: object) -> Scores:
    """Read one answer: a probability for each option, and nothing else."""
    try:
        if question.kind == "judge" and "probability" in answer:
            yes, no = question.options
            found = {yes: float(answer["probability"]), no: 1 - float(answer["probability"])}
        else:
            found = {name: float(p) for name, p in answer["probabilities"].items()}
        line = [found[option] for option in question.options]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DecisionServiceError(
            f"service must give a probability for each option of {question.text!r}, got {answer!r}"
        ) from error
    if any(not 0 <= p <= 1 for p in line) or not sum(line) > 0:
        raise DecisionServiceError(f"probabilities must be within 0..1, got {line}")
    return Scores(log_probs=tuple(math.log(p) if p else -math.inf for p in line), tokens=0)
