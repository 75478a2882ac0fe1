"""Which row is asked for next: spread, then suggested, one in five at random, never twice."""

import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.labelling.answers import RANDOM, SPREAD, SUGGESTED
from lapwing.labelling.questions import AHEAD, Questions


def nothing(row):
    return False


def asked(questions, n, tab="a", done=None):
    """Answer n questions of a tab, and return them."""
    done = set() if done is None else done
    found = []
    for _ in range(n):
        row, why = questions.of(tab, done.__contains__)[0]
        done.add(row)
        found.append((row, why))
    return found


# ---------------------------------------------------------------- the order


def test_spread_rows_come_first_then_suggested_ones_in_their_order():
    questions = Questions(1000, [5, 3, 9], seed=0)
    questions.suggest([8, 3, 2])
    found = asked(questions, 7)
    chosen = [one for one in found if one[1] != RANDOM]
    assert chosen == [(5, SPREAD), (3, SPREAD), (9, SPREAD), (8, SUGGESTED), (2, SUGGESTED)]
    assert [why for _, why in found].count(RANDOM) == 2


def test_about_one_question_in_five_is_random():
    n, counts = 500, []
    for seed in range(20):
        questions = Questions(2000, list(range(1000)), seed)
        counts.append(sum(why == RANDOM for _, why in asked(questions, n)))
    # A binomial count has a standard deviation of 9; the mean of twenty one of 2.
    assert abs(np.mean(counts) - n / 5) < 6
    assert max(abs(count - n / 5) for count in counts) < 36
    assert len(set(counts)) > 5  # seeds differ


def test_random_rows_are_those_of_a_seed_whatever_the_model_suggests():
    def random_rows(suggested):
        questions = Questions(300, [], seed=3)
        questions.suggest(suggested)
        return [row for row, why in asked(questions, 60) if why == RANDOM]

    low, high = random_rows(range(150)), random_rows(range(299, 149, -1))
    # The same draw, apart from rows that were labelled before they were drawn.
    assert [row for row in low if row in high] == [row for row in high if row in low]
    assert len(set(low) & set(high)) >= 5
    assert random_rows(range(150)) == low


def test_random_rows_are_a_draw_from_all_rows():
    # The mean row of 400 draws of 10 from 0 … 99 has a standard error of 0.43.
    rows = []
    for seed in range(400):
        rows += [row for row, _ in asked(Questions(100, [], seed), 10)]
    assert abs(np.mean(rows) - 49.5) < 2.0
    assert len(set(rows)) == 100


def test_random_rows_and_those_met_on_the_way_are_a_sample_of_all_rows():
    # A fifth of the rows is hard, and the model suggests these first. Drawn rows that had no label
    # would be easy far too often.
    n, drawn, sampled = 200, [], []
    for seed in range(100):
        questions, sample = Questions(n, [], seed), set()
        questions.suggest(range(n))  # rows 0 … 39 are hard
        done = set()
        for _ in range(60):
            row, why = asked(questions, 1, done=done)[0]
            if why == RANDOM:
                drawn.append(row < 40)
                sample |= {row, *questions.met(row, done.__contains__)}
        assert sample <= done
        sampled += [row < 40 for row in sample]
    assert np.mean(drawn) < 0.15
    assert abs(np.mean(sampled) - 0.2) < 0.03


def test_rows_of_another_order_are_not_met():
    questions = Questions(50, [])
    done, order = set(), [row for row, _ in asked(Questions(50, []), 50)]
    asked(questions, 3, done=done)
    assert questions.met(order[2], done.__contains__) == order[:2]
    assert questions.met(order[20], done.__contains__) == []


def test_a_random_row_whose_label_was_taken_away_is_asked_for_soon():
    questions, done = Questions(50, []), set()
    first, *_ = asked(questions, 10, done=done)
    done.remove(first[0])
    questions.look_again()
    assert first in asked(questions, 4, done=done)


def test_without_suggestions_all_rows_are_random():
    assert {why for _, why in asked(Questions(50, []), 30)} == {RANDOM}


def test_a_session_that_is_continued_goes_on_with_the_draw():
    first = Questions(300, list(range(300)), seed=1)
    whys = [why for _, why in asked(first, 40)]
    second = Questions(300, list(range(300)), seed=1, asked=20)
    assert [why for _, why in asked(second, 20)] == whys[20:]


def test_suggestions_replace_those_before_and_questions_stay():
    questions = Questions(10_000, [], seed=0)
    questions.suggest([1, 2, 3, 4])
    before = questions.of("a", nothing)
    questions.suggest([7, 8])
    assert questions.of("a", nothing) == before
    found = asked(questions, 8)
    assert [row for row, why in found[AHEAD:] if why == SUGGESTED] == [7, 8]


# ---------------------------------------------------------------- every row once


@settings(max_examples=60)
@given(st.data())
def test_all_rows_are_asked_once_and_done_ones_never(data):
    n = data.draw(st.integers(1, 12))
    some = st.lists(st.integers(0, n - 1), unique=True)
    spread, known = data.draw(some), set(data.draw(some))
    questions = Questions(n, spread, seed=data.draw(st.integers(0, 5)))
    done, found = set(known), []
    for _ in range(3 * n):
        tab = data.draw(st.sampled_from("ab"))
        if data.draw(st.booleans()):
            questions.suggest(data.draw(some))
        own = questions.of(tab, done.__contains__)
        if own:
            row, why = own[data.draw(st.integers(0, len(own) - 1))]
            assert questions.why(tab, row) == why
            assert row not in done
            done.add(row)
            found.append(row)
    for tab in "abab":  # what is left is in one of the tabs
        while own := questions.of(tab, done.__contains__):
            done.add(own[0][0])
            found.append(own[0][0])
    assert sorted(found) == sorted(set(range(n)) - known)


def test_a_tab_has_the_next_question_already():
    questions = Questions(50, list(range(10)))
    done = set()
    before = questions.of("a", done.__contains__)
    assert len(before) == AHEAD
    done.add(before[0][0])
    assert questions.of("a", done.__contains__)[0] == before[1]


def test_tabs_have_questions_of_their_own():
    questions = Questions(30, list(range(6)), seed=0)
    tabs = {tab: questions.of(tab, nothing) for tab in "abcdefgh"}
    rows = [row for own in tabs.values() for row, _ in own]
    assert len(rows) == len(set(rows)) == 8 * AHEAD
    row, why = tabs["a"][0]
    assert questions.why("a", row) == why
    assert questions.why("b", row) is None
    assert questions.why("never seen", row) is None


def test_a_tab_without_free_rows_gets_none():
    questions = Questions(3, [0])
    assert len(questions.of("a", nothing)) == 2
    assert len(questions.of("b", nothing)) == 1
    assert questions.of("c", nothing) == []
    assert Questions(3, [0]).of("a", lambda row: True) == []


def test_the_questions_of_a_tab_that_is_gone_are_asked_elsewhere(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    questions = Questions(4, [0, 1, 2, 3], seed=0)
    gone = questions.of("gone", nothing)
    rest = questions.of("here", nothing)
    assert not {row for row, _ in gone} & {row for row, _ in rest}
    done = {row for row, _ in rest}
    clock[0] += 599
    assert questions.of("here", done.__contains__) == []  # it may only be slow
    clock[0] += 2
    again = questions.of("here", done.__contains__)
    assert {row for row, _ in again} == {row for row, _ in gone}
    assert questions.why("gone", gone[0][0]) is None


def test_a_tab_that_is_used_keeps_its_questions(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    questions = Questions(4, [0, 1, 2, 3])
    own = questions.of("a", nothing)
    for _ in range(5):
        clock[0] += 500
        assert questions.of("a", nothing) == own
        assert not {row for row, _ in questions.of("b", nothing)} & {row for row, _ in own}


def test_spread_rows_of_a_tab_that_is_gone_are_not_lost(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    questions = Questions(1000, [1, 2, 3], seed=0)
    while not any(why == SPREAD for _, why in questions.of("gone", nothing)):
        questions = Questions(1000, [1, 2, 3], seed=questions.seed + 1)
    clock[0] += 1e4
    assert {row for row, why in asked(questions, 30) if why == SPREAD} == {1, 2, 3}


def test_a_row_can_be_asked_for_first():
    questions = Questions(100, list(range(20)))
    before = questions.of("a", nothing)
    questions.first("a", 77, RANDOM)
    assert questions.of("a", nothing) == [(77, RANDOM), before[0]]
    assert questions.why("a", 77) == RANDOM
    # It is a question of one tab only.
    other = questions.of("b", nothing)[1][0]
    questions.first("a", other, SUGGESTED)
    assert questions.of("a", nothing)[0] == (other, SUGGESTED)
    assert other not in [row for row, _ in questions.of("b", nothing)]
    # The same row again is asked for once.
    questions.first("a", other, SPREAD)
    assert questions.of("a", nothing) == [(other, SPREAD), (77, RANDOM)]
    questions.first("new", 5, SPREAD)
    assert questions.of("new", nothing)[0] == (5, SPREAD)


def test_a_row_whose_label_was_taken_away_is_asked_for_again():
    questions, done = Questions(6, [], seed=0), set()
    found = asked(questions, 6, done=done)
    assert questions.of("a", done.__contains__) == []
    done.remove(found[2][0])
    assert questions.of("a", done.__contains__) == [(found[2][0], RANDOM)]
