"""Prompts of the workflow's own questions, in one place; the paper does not print its own."""

STOP = "STOP"
ACCEPT = "ACCEPT"

ACT = "Do your part of the task, with what was found before.\n\nTask: {task}"
REPAIR = (
    "Your last work on the task was not accepted. Correct it.\n\n"
    "Feedback: {feedback}\n\nTask: {task}"
)
CRITERION = "Is the last piece of work correct and complete?"
NOT_MET = "The work does not meet the criterion: {criterion}"
REVIEW = (
    "Check the last piece of work.\n\nCriterion: {criterion}\n\nTask: {task}\n\n"
    f"If the criterion is met, reply with the one word {ACCEPT}. Otherwise say what is wrong and "
    "how to correct it."
)
ROUTE = "Who must act next on the task? " + STOP + " if the task is solved."
ROUTE_IN_WORDS = (
    "Choose who acts next on the task.\n\n{experts}\n{stop}\n\nTask: {task}\n\n"
    "Reply with one name and nothing else."
)
PLAN = "Plan in a few numbered steps who does what.\n\n{experts}\n\nTask: {task}"


def duties(experts) -> str:
    """List experts with what they do, one a line."""
    return "\n".join(f"{one.name}: {one.duty}" if one.duty else one.name for one in experts)
