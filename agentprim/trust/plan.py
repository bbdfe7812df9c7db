"""What a quick and a full measurement consist of."""

from agentprim.trust.measure import Task

LENGTHS = (20, 180, 600)
LONG = 2000
MIDDLE = 180  # where several senders are measured


def quick_plan() -> list[Task]:
    """List the tasks of about a minute for a small model on a CPU, 20,000 tokens."""
    single = [
        Task(index=i, senders=1, lengths=LENGTHS, append=i > 1, exact=i > 2, timed=i > 2)
        for i in range(4)
    ]
    several = [
        Task(index=i, senders=n, lengths=(MIDDLE,), append=i > 0, timed=i > 0)
        for n in (2, 4) for i in range(2)
    ]  # fmt: skip
    return single + several


def full_plan() -> list[Task]:
    """List the tasks of the long measurement, all sizes advancing together, what is timed last."""
    single = [
        Task(index=i, senders=1, lengths=LENGTHS, variant=i % 4, append=i % 2 == 1, exact=i > 93,
             timed=i > 95)
        for i in range(100)
    ]  # fmt: skip
    several = [
        [Task(index=i, senders=n, lengths=(MIDDLE,), variant=i % 4, timed=i > 29)
         for i in range(32)]
        for n in (2, 4)
    ]  # fmt: skip
    long = [
        Task(index=i, senders=1, lengths=(LONG,), variant=i % 2, exact=i > 13, timed=i > 13)
        for i in range(16)
    ]
    ranked = []
    for group in (single, *several, long):
        ranked += [((task.index + 0.5) / len(group), task) for task in group]
    return [task for _, task in sorted(ranked, key=lambda pair: pair[0])]
