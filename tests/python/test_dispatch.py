"""The policy of drivers under a clock of its own: thousands of tasks, failures by seed, slow
machines, lost machines, and what arrives late."""

from __future__ import annotations

import heapq
import random
from collections import Counter

import pytest
from headrace.drivers.dispatch import Dispatcher, Ended, TaskError


class Machines:
    """An engine whose attempts take as long, and end so, as `decide(task, attempt)` says."""

    spare = 0

    def __init__(self, decide, limit=50, batch=1):
        self.decide, self.limit, self.batch = decide, limit, batch
        self.now = 0.0
        self.begun: dict[int, float] = {}
        self.ends: list[tuple[float, int, Ended]] = []
        self.started: list[int] = []
        self.calls: list[int] = []
        self.cancelled: set[int] = set()
        self.most = 0

    def start(self, tasks):
        self.calls.append(len(tasks))
        attempts = []
        for task in tasks:
            attempt = len(self.started)
            seconds, code = self.decide(task, self.started.count(task))
            self.started.append(task)
            self.begun[attempt] = self.now
            end = Ended(attempt, code, seconds, f"{task} ended with {code}")
            heapq.heappush(self.ends, (self.now + seconds, attempt, end))
            attempts.append(attempt)
        self.most = max(self.most, len(self.ends) - len(self.cancelled))
        return attempts

    def wait(self):
        limit = self.now + 1.0
        while self.ends and self.ends[0][0] <= limit:
            when, attempt, ended = heapq.heappop(self.ends)
            if attempt in self.cancelled:
                self.cancelled.discard(attempt)
                continue
            self.now = when
            return [ended]
        self.now = limit
        return []

    def running_for(self, attempt):
        return self.now - self.begun[attempt]

    def cancel(self, attempt):
        self.cancelled.add(attempt)


def test_all_tasks_run_once_and_never_more_than_allowed():
    machines = Machines(lambda task, _: (1 + task % 3, 0), limit=7)
    done = Dispatcher(machines, range(500)).run()
    assert machines.started == list(range(500))
    assert machines.most == 7
    assert (done.finished, done.retries, done.doubles) == (500, 0, 0)


def test_tasks_start_in_large_groups_where_an_engine_wants_that():
    machines = Machines(lambda *_: (1, 0), limit=100, batch=50)
    Dispatcher(machines, range(1000)).run()
    assert len(machines.calls) <= 21 and machines.most <= 100


@pytest.mark.parametrize("seed", range(20))
def test_it_ends_whatever_fails_and_is_lost(seed):
    draw = random.Random(seed)

    def decide(task, attempt):
        fate = draw.random()
        if fate < 0.1 and attempt < 9:
            return draw.uniform(0, 30), None  # the machine is lost
        if fate < 0.2 and attempt < 3:
            return draw.uniform(0, 30), draw.choice([1, 5, 130, -9])
        return (1000 if fate > 0.995 else draw.uniform(1, 10)), 0

    machines = Machines(decide, limit=draw.choice([1, 20, 300]), batch=draw.choice([1, 10]))
    done = Dispatcher(machines, range(700)).run()
    assert done.finished == 700 and set(machines.started) == set(range(700))
    assert len(machines.started) == 700 + done.retries + done.doubles


def test_what_another_try_cannot_change_ends_the_job_at_once():
    machines = Machines(lambda task, _: (5, 6 if task == 30 else 0), limit=10)
    with pytest.raises(TaskError, match="task 30 failed: 30 ended with 6") as caught:
        Dispatcher(machines, range(1000)).run()
    assert caught.value.code == "changed"
    assert len(machines.started) <= 41 and len(machines.cancelled) >= 8  # what was under way


@pytest.mark.parametrize(("code", "tries"), [(1, 4), (None, 10)])
def test_there_is_an_end_to_trying(code, tries):
    machines = Machines(lambda task, _: (1, code if task == 3 else 0))
    with pytest.raises(TaskError, match=f"task 3 failed {tries} times"):
        Dispatcher(machines, range(10)).run()
    assert Counter(machines.started)[3] == tries


def test_a_slow_task_gets_a_second_copy_and_the_first_to_end_counts():
    def decide(task, attempt):
        return (100_000 if task == 5 and attempt == 0 else 10), 0

    machines = Machines(decide, limit=10)
    done = Dispatcher(machines, range(40)).run()
    assert (done.finished, done.doubles) == (40, 1)
    assert machines.started.count(5) == 2 and machines.now < 100
    assert machines.cancelled == {5}


def test_short_tasks_get_no_second_copy():
    machines = Machines(lambda task, _: (4 if task == 5 else 0.01, 0), limit=10)
    assert Dispatcher(machines, range(40)).run().doubles == 0


def test_a_copy_that_fails_does_not_count_while_the_other_runs():
    def decide(task, attempt):
        return ((60, 0) if attempt == 0 else (1, 1)) if task == 5 else (10, 0)

    machines = Machines(decide, limit=10)
    done = Dispatcher(machines, range(40)).run()
    assert (done.finished, done.doubles, done.retries) == (40, 1, 0)


def test_progress_is_told():
    told = []
    Dispatcher(Machines(lambda *_: (1, 0), limit=3), range(9), told.append).run()
    assert [p.finished for p in told] == sorted(p.finished for p in told)
    assert told[-1].finished == told[-1].tasks == 9 and max(p.running for p in told) <= 3
