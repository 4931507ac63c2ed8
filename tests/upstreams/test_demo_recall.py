"""What the embedded model answers to questions about the conversation."""

import pytest

from app.upstreams.demo_recall import QUOTED, SEARCHED, SENTENCES, recalled

HISTORY = [
    "My name is Alice.",
    "Hi! My favourite colour is blue. I live in Paris. How are you?",
    "I am 30 years old and my dog's name is Rex",
]
UNKNOWN = "You have not told me that in this conversation."
ANSWERS = {
    "What is my name?": "You told me: My name is Alice.",
    "what's my name": "You told me: My name is Alice.",
    "Who am I?": "You told me: My name is Alice.",
    "Do you remember my name?": "You told me: My name is Alice.",
    "What is my favourite colour?": "You told me: My favourite colour is blue.",
    "What is my favorite color?": "You told me: My favourite colour is blue.",
    "Hi, what am I called?": "You told me: My name is Alice.",
    "Say my name": "You told me: My name is Alice.",
    "My name?": "You told me: My name is Alice.",
    "What is your name?": None,
    "What's the name of my dog?": "You told me: I am 30 years old and my dog's name is Rex",
    "Where do I live?": "You told me: I live in Paris.",
    "How old am I?": "You told me: I am 30 years old and my dog's name is Rex",
    "What is my dog\u2019s name?": "You told me: I am 30 years old and my dog's name is Rex",
    "What did I say?": "You told me: My name is Alice. / Hi! / My favourite colour is blue. / I live in Paris. / "
    "I am 30 years old and my dog's name is Rex",
    "What is my phone number?": UNKNOWN,
    "Can you help me with my code?": None,
    "What is the capital of France?": None,
    "My name is Bob.": None,
    "Hello!": None,
    "": None,
}


@pytest.mark.parametrize(("question", "answer"), ANSWERS.items())
def test_a_question_is_answered_with_what_the_user_said(question: str, answer: str | None) -> None:
    assert recalled(question, HISTORY) == answer


def test_the_newest_of_two_statements_counts() -> None:
    assert recalled("What is my name?", ["My name is Alice.", "My name is Bob."]) == "You told me: My name is Bob."
    assert recalled("What is my name?", ["I'm Carol", "I'm tired"]) == "You told me: I'm Carol"


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("Hi, I'm Jürgen Müller.", "What is my name?", "You told me: Hi, I'm Jürgen Müller."),
        ("I\u2019m Ægir", "Who am I?", "You told me: I\u2019m Ægir"),
        ("my name's alice", "what's my name?", "You told me: my name's alice"),
        ("The secret word is Banane.", "What is the secret word?", "You told me: The secret word is Banane."),
        ("Remember the number 42.", "Which number should you remember?", "You told me: Remember the number 42."),
        ("the weather in Paris", "What is the weather in Paris?", None),  # that is no answer
        ("I am hungry.", "What is my name?", UNKNOWN),
        ("Open the file main.py", "Can you open the file?", None),
    ],
)
def test_people_say_it_in_many_ways(said: str, question: str, answer: str | None) -> None:
    assert recalled(question, ["Hello!", said]) == answer


def test_without_a_history_nothing_is_known() -> None:
    assert recalled("What is my name?", []) == UNKNOWN
    assert recalled("What did I say?", []) is None


def test_the_demos_own_summary_is_read_without_its_introduction() -> None:
    summary = "Go on from this summary.\n\n1. The user said: My name is Alice / I like tea."
    assert recalled("What is my name?", [summary]) == "You told me: My name is Alice"
    assert recalled("What did I say?", ["I like tea.", summary]) == "You told me: My name is Alice / I like tea."


def test_what_is_searched_and_quoted_is_bounded() -> None:
    assert recalled("What is my name?", ["My name is Alice. " + "x" * SEARCHED]) == UNKNOWN
    assert len(recalled("What is my name?", ["My name is " + "x" * SEARCHED]) or "") <= QUOTED + len("You told me: ")
    said = recalled("What did I say?", [f"{number}." for number in range(1_000)])
    assert said is not None
    assert (said.count(" / ") + 1, said.endswith("999.")) == (SENTENCES, True)
