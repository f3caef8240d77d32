"""Rows of a batch over threads: each part once, whatever some threads do."""

import threading

import pytest

from rne_dynamics.straight_line.threads import FEWEST, Crew


def test_the_caller_computes_what_no_thread_has_begun():
    crew, woken = Crew(2), threading.Event()
    crew._executor().submit(woken.wait, 60.0)  # the only other thread is busy until the batch is done
    dealt: list[str] = []
    crew.deal(lambda first, end: dealt.append(threading.current_thread().name), 8 * FEWEST)
    assert dealt == [threading.current_thread().name] * 8
    woken.set()


@pytest.mark.parametrize("fails", [IndexError, ValueError])
@pytest.mark.parametrize("caller", [True, False])
def test_an_exception_is_raised_when_all_threads_have_ended(fails, caller):
    here, both = threading.current_thread(), threading.Barrier(2, timeout=60.0)
    begun: list[int] = []
    ended: list[int] = []

    def work(first: int, end: int) -> None:
        begun.append(first)
        try:
            if first < 2 * FEWEST:  # a part for each thread, at the same time
                both.wait()
                if (threading.current_thread() is here) is caller:
                    raise fails("of this part")
        finally:
            ended.append(first)

    with pytest.raises(fails, match="of this part"):
        Crew(2).deal(work, 16 * FEWEST)
    assert sorted(ended) == sorted(begun)
