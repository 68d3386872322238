"""Sentence templates, written out."""

from training.templates import expansions


def test_the_first_sentence_takes_every_first_choice_and_leaves_nothing_out() -> None:
    assert expansions("(turn|switch) on [the] {name}", most=1) == ["turn on the name"]


def test_all_sentences_of_a_small_template_are_found_and_none_twice() -> None:
    said = expansions("(turn|switch) on [the] light", most=9)

    assert sorted(said) == ["switch on light", "switch on the light", "turn on light", "turn on the light"]


def test_the_same_template_gives_the_same_sentences() -> None:
    template = "(a|b|c|d|e) (1|2|3|4|5) [x] [y]"

    assert expansions(template, most=4) == expansions(template, most=4)
    assert len(expansions(template, most=4)) == 4


def test_rules_and_slots_are_filled_in() -> None:
    rules = {"set": "(set|change) <it>", "it": "the [loud]ness"}

    said = expansions("<set> to {volume:level}", most=1, rules=rules, value={"volume:level": "50"}.__getitem__)

    assert said == ["set the loudness to 50"]


def test_parts_in_any_order_are_said_in_one() -> None:
    assert expansions("(turn on;the light)", most=3) == ["turn on the light"]


def test_a_choice_may_be_empty() -> None:
    assert expansions("news (today|)", most=5) == ["news today", "news"]


def test_a_template_that_cannot_be_written_out_says_nothing() -> None:
    assert expansions("<unknown> light", most=3) == []
    assert expansions("<endless>", most=3, rules={"endless": "more <endless>"}) == []
