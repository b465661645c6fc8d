"""Units of syntax on sentences worked by hand: parses written here, and spaCy's where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import MissingPackage
from sightline.language import parsing
from sightline.language.parsing import Parser, Token
from sightline.language.syntax import UNITS, Tree, ratios, units, word_order, yngve_depth


def parse(written: str) -> list[Token]:
    """Tokens from `text/TAG/PART/label/head`, heads counted from 1 within the text; a root heads itself."""
    tokens: list[Token] = []
    for sentence, line in enumerate(written.splitlines()):
        start = len(tokens)
        for piece in line.split():
            text, tag, part, label, head = piece.split("/")
            tokens.append(Token(text, tag, part, label, start + int(head) - 1, sentence))
    return tokens


PHRASE = (
    "a/DT/DET/det/2 cat/NN/NOUN/ROOT/2 on/IN/ADP/prep/2 a/DT/DET/det/6 red/JJ/ADJ/amod/6 mat/NN/NOUN/pobj/3"
)
# The boy who ran home saw that the dog barked because it was hungry.
NESTED = (
    "The/DT/DET/det/2 boy/NN/NOUN/nsubj/6 who/WP/PRON/nsubj/4 ran/VBD/VERB/relcl/2 home/RB/ADV/advmod/4 "
    "saw/VBD/VERB/ROOT/6 that/IN/SCONJ/mark/10 the/DT/DET/det/9 dog/NN/NOUN/nsubj/10 "
    "barked/VBD/VERB/ccomp/6 because/IN/SCONJ/mark/13 it/PRP/PRON/nsubj/13 was/VBD/AUX/advcl/10 "
    "hungry/JJ/ADJ/acomp/13 ././PUNCT/punct/6"
)
SHARED = "He/PRP/PRON/nsubj/2 ran/VBD/VERB/ROOT/2 and/CC/CCONJ/cc/2 jumped/VBD/VERB/conj/2"
TWO = "He/PRP/PRON/nsubj/2 ran/VBD/VERB/ROOT/2 and/CC/CCONJ/cc/2 she/PRP/PRON/nsubj/5 jumped/VBD/VERB/conj/2"
SPLICE = (
    "It/PRP/PRON/nsubj/2 rains/VBZ/VERB/ccomp/5 ,/,/PUNCT/punct/5 he/PRP/PRON/nsubj/5 sleeps/VBZ/VERB/ROOT/5"
)
IMPERATIVE = (
    "Paint/VB/VERB/ROOT/1 a/DT/DET/det/4 red/JJ/ADJ/amod/4 house/NN/NOUN/dobj/1 and/CC/CCONJ/cc/4 "
    "a/DT/DET/det/7 car/NN/NOUN/conj/4"
)
INFINITIVE = (
    "I/PRP/PRON/nsubj/2 want/VBP/VERB/ROOT/2 to/TO/PART/aux/4 go/VB/VERB/xcomp/2 home/RB/ADV/advmod/4"
)
SUBJECT = "To/TO/PART/aux/2 win/VB/VERB/csubj/3 is/VBZ/AUX/ROOT/3 nice/JJ/ADJ/acomp/3"
WHAT = "What/WP/PRON/dobj/3 he/PRP/PRON/nsubj/3 said/VBD/VERB/csubj/4 was/VBD/AUX/ROOT/4 true/JJ/ADJ/acomp/4"
HOW = (
    "I/PRP/PRON/nsubj/2 know/VBP/VERB/ROOT/2 "
    "how/WRB/SCONJ/advmod/5 he/PRP/PRON/nsubj/5 swims/VBZ/VERB/ccomp/2"
)
PARTICIPLE = "a/DT/DET/det/2 dog/NN/NOUN/ROOT/2 running/VBG/VERB/acl/2 fast/RB/ADV/advmod/3"
RELATIVE = "a/DT/DET/det/2 cat/NN/NOUN/ROOT/2 that/WDT/PRON/nsubj/4 sleeps/VBZ/VERB/relcl/2"
OWNER = "John/NNP/PROPN/poss/3 's/POS/PART/case/1 dog/NN/NOUN/ROOT/3"
LISTED = (
    "red/JJ/ADJ/amod/6 ,/,/PUNCT/punct/1 green/JJ/ADJ/conj/1 and/CC/CCONJ/cc/3 blue/JJ/ADJ/conj/3 "
    "balls/NNS/NOUN/ROOT/6"
)
QUESTION = "Is/VBZ/AUX/ROOT/1 he/PRP/PRON/nsubj/1 happy/JJ/ADJ/acomp/1 ?/./PUNCT/punct/1"
PASSIVE = "He/PRP/PRON/nsubjpass/3 was/VBD/AUX/auxpass/3 seen/VBN/VERB/ROOT/3"

# Counts in the order of UNITS: words, sentences, verb phrases, clauses, T-units; dependent clauses, complex
# T-units, coordinate phrases, complex nominals.
BY_HAND = {
    # A noun phrase with another in its prepositional phrase: a fragment, which L2SCA counts as a T-unit, and
    # as a clause since it holds none; no verb phrase.
    PHRASE: (6, 1, 0, 1, 1, 0, 0, 0, 2),
    # The relative clause of a fragment is dependent and the only clause; a fragment is no complex T-unit.
    RELATIVE: (4, 1, 1, 1, 1, 1, 0, 0, 1),
    # saw | ran (relative), barked (complement), was (adverbial). Nominals: the boy who ran; that ... barked.
    NESTED: (14, 1, 4, 4, 1, 3, 1, 0, 2),
    # One subject: one clause with a coordinate verb phrase.
    SHARED: (4, 1, 1, 1, 1, 0, 0, 1, 0),
    # A subject each: two main clauses, no coordinate phrase.
    TWO: (5, 1, 2, 2, 2, 0, 0, 0, 0),
    SPLICE: (4, 1, 2, 2, 2, 0, 0, 0, 0),
    # The two nouns are one noun phrase, complex by "red".
    IMPERATIVE: (7, 1, 1, 1, 1, 0, 0, 1, 1),
    # want has a tense, go has none.
    INFINITIVE: (5, 1, 2, 1, 1, 0, 0, 0, 0),
    SUBJECT: (4, 1, 2, 1, 1, 0, 0, 0, 1),
    WHAT: (5, 1, 2, 2, 1, 1, 1, 0, 1),
    # A clause with "how" is dependent, but by L2SCA's pattern no nominal.
    HOW: (5, 1, 2, 2, 1, 1, 1, 0, 0),
    # The participle lies under NP: no verb phrase of an S, but it makes the nominal complex.
    PARTICIPLE: (4, 1, 0, 1, 1, 0, 0, 0, 1),
    OWNER: (3, 1, 0, 1, 1, 0, 0, 0, 1),
    # Three adjectives in one chain are one coordinate phrase.
    LISTED: (5, 1, 0, 1, 1, 0, 0, 1, 1),
    QUESTION: (3, 1, 1, 1, 1, 0, 0, 0, 0),
    PASSIVE: (3, 1, 1, 1, 1, 0, 0, 0, 0),
    f"{SHARED}\n{PHRASE}": (10, 2, 1, 2, 2, 0, 0, 1, 2),
}


@pytest.mark.parametrize("written", BY_HAND)
def test_units_by_hand(written: str) -> None:
    assert units(Tree(parse(written))) == dict(zip(UNITS, BY_HAND[written], strict=True))


def test_a_dependent_clause_counts_for_its_own_t_unit_only() -> None:
    """He ran and she said that it rained: of two T-units the second holds the clause."""
    written = (
        "He/PRP/PRON/nsubj/2 ran/VBD/VERB/ROOT/2 and/CC/CCONJ/cc/2 she/PRP/PRON/nsubj/5 said/VBD/VERB/conj/2 "
        "that/IN/SCONJ/mark/8 it/PRP/PRON/nsubj/8 rained/VBD/VERB/ccomp/5"
    )
    tree = Tree(parse(written))
    assert (tree.t_units, tree.dependent_clauses, tree.complex_t_units) == ([1, 4], [7], [4])
    assert tree.complex_nominals == [7]


def test_ratios_by_hand() -> None:
    """14 words, 1 sentence, 4 clauses and verb phrases, 1 T-unit, 3 dependent clauses, 2 nominals."""
    found = ratios(units(Tree(parse(NESTED))))
    assert found == {
        "mean_sentence_length": 14,
        "mean_t_unit_length": 14,
        "mean_clause_length": 14 / 4,
        "clauses_per_sentence": 4,
        "verb_phrases_per_t_unit": 4,
        "clauses_per_t_unit": 4,
        "dependent_clauses_per_clause": 3 / 4,
        "dependent_clauses_per_t_unit": 3,
        "t_units_per_sentence": 1,
        "complex_t_units_per_t_unit": 1,
        "coordinate_phrases_per_t_unit": 0,
        "coordinate_phrases_per_clause": 0,
        "complex_nominals_per_t_unit": 2,
        "complex_nominals_per_clause": 2 / 4,
    }


def test_ratios_without_a_unit() -> None:
    counted = units(Tree(parse("!/./PUNCT/ROOT/1")))
    assert ratios(counted)["mean_t_unit_length"] == 0
    assert set(ratios(counted, undefined=-1).values()) == {-1}


def test_prompts_are_fragments(data: Path) -> None:
    """PartiPrompts against the means of W1KP's Table 2, which are over DiffusionDB's longer prompts."""
    pytest.importorskip("spacy")
    lines = (data / "prompt_suites" / "partiprompts" / "PartiPrompts.tsv").read_text("utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines[1::6]]
    trees = [Tree(tokens) for tokens in parsing.find()(texts)]
    counted = [units(tree) for tree in trees if tree.words]
    assert all(each["t_units"] > 0 for each in counted)
    means = {name: float(np.mean([each[name] for each in counted])) for name in UNITS}
    # The paper's mean is .92 T-units per prompt; at most one prompt in five has a verb at its root.
    assert means["t_units"] == pytest.approx(0.92, abs=0.3)
    assert np.mean([len(tree.fragments) > 0 for tree in trees]) > 0.8
    # Complex nominals per T-unit, 2.16 there, grow with the length of the prompt: 24.6 words there, 9 here.
    assert 1 < means["complex_nominals"] / means["t_units"] < 2.16


def test_yngve_depth_by_hand() -> None:
    """He ran and jumped: branches of the one node from the right 0 jumped, 1 and, 2 ran, 3 He: mean 6 / 4.

    a cat on a red mat: below cat 0 [on ...], 1 cat, 2 a; below on 0 [mat ...], 1 on; below mat 0 mat, 1 red,
    2 a. So a 2, cat 1, on 0+1, a 0+0+2, red 0+0+1, mat 0: mean 7 / 6.
    """
    assert yngve_depth(Tree(parse(SHARED))) == 6 / 4
    assert yngve_depth(Tree(parse(PHRASE))) == 7 / 6
    # Punctuation is no branch: Is 2, he 1, happy 0.
    assert yngve_depth(Tree(parse(QUESTION))) == 1
    assert yngve_depth(Tree(parse("././PUNCT/ROOT/1"))) is None
    # Two sentences: (6 + 7) / 10.
    assert yngve_depth(Tree(parse(f"{SHARED}\n{PHRASE}"))) == 1.3


def test_word_order() -> None:
    found = {name: word_order(parse(name)) for name in (PHRASE, PARTICIPLE, SHARED)}
    assert found[PHRASE] == {"noun_verb": False, "noun_verb_adverb": False, "adjective_noun": True}
    assert found[PARTICIPLE] == {"noun_verb": True, "noun_verb_adverb": True, "adjective_noun": False}
    assert not any(found[SHARED].values())
    # Plural and proper nouns and every form of the verb count; what a comma parts does not follow.
    assert word_order(parse("cats/NNS/NOUN/nsubj/2 sat/VBD/VERB/ROOT/2"))["noun_verb"]
    assert not word_order(parse("cats/NNS/NOUN/nsubj/3 ,/,/PUNCT/punct/1 sat/VBD/VERB/ROOT/3"))["noun_verb"]


PARTS = ["NOUN", "VERB", "AUX", "ADJ", "ADV", "PRON", "ADP", "CCONJ", "PUNCT"]
TAGS = ["NN", "VBD", "VB", "VBG", "MD", "JJ", "RB", "TO", "WRB", "POS"]
LABELS = [
    "nsubj", "conj", "cc", "ccomp", "advcl", "relcl", "acl", "xcomp", "aux", "amod", "prep", "csubj", "appos",
]  # fmt: skip


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any tree at all, sensible or not: heads are drawn so that all lead to the first root."""
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(n)))
    tokens: dict[int, Token] = {}
    for step, place in enumerate(order):
        head = order[draw(st.integers(0, step - 1))] if step else place
        label = draw(st.sampled_from(LABELS)) if step else "ROOT"
        tag, part = draw(st.sampled_from(TAGS)), draw(st.sampled_from(PARTS))
        tokens[place] = Token("." if part == "PUNCT" else "w", tag, part, label, head, 0)
    return Tree([tokens[place] for place in range(n)])


@given(trees())
def test_units_of_any_tree(tree: Tree) -> None:
    counted = units(tree)
    assert set(tree.dependent_clauses).isdisjoint(tree.t_units)
    assert set(tree.dependent_clauses) <= set(tree.clauses) - set(tree.fragments) <= set(tree.verb_phrases)
    assert set(tree.complex_t_units) <= set(tree.t_units)
    assert counted["complex_t_units"] <= counted["dependent_clauses"]
    assert all(value >= 0 for value in ratios(counted).values())
    depth = yngve_depth(tree)
    assert (depth is None) == (not tree.words)
    if depth is not None:
        # Words of one tree are numbered apart, so that n of them cannot all lie at the right edge.
        assert (len(tree.words) - 1) / len(tree.words) - 1e-12 <= depth <= (len(tree.words) - 1) ** 2


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    try:
        yield parsing.find()
    except MissingPackage as error:
        pytest.skip(error.what)


def test_spacy_parses_as_written_here(parser: Parser) -> None:
    """The sentences that a small model gets right, against the counts by hand."""
    texts = {
        "The boy who ran home saw that the dog barked because it was hungry.": NESTED,
        "He ran and jumped.": SHARED,
        "He ran and she jumped.": TWO,
        "I want to go home.": INFINITIVE,
        "What he said was true.": WHAT,
        "To win is nice.": SUBJECT,
        "a cat on a red mat": PHRASE,
        "Is he happy?": QUESTION,
    }
    for (text, written), tokens in zip(texts.items(), parser(list(texts)), strict=True):
        assert tuple(units(Tree(tokens)).values()) == BY_HAND[written], text


def test_heads_of_later_sentences_and_texts(parser: Parser) -> None:
    """Places are those of the text, not of the sentence or the batch."""
    first, second = parser(["A cat sleeps. The dog barks loudly.", "He ran."])
    assert [token.sentence for token in first] == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert first[first[5].head].text == "barks" and second[second[0].head].text == "ran"
    assert list(parser([])) == []
    assert [Tree(tokens).words for tokens in parser(["", " ... "])] == [[], []]


def test_a_model_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy", reason="the extra language is not installed")
    monkeypatch.setenv(parsing.VARIABLE, "no_such_model")
    with pytest.raises(MissingPackage, match="no_such_model"):
        parsing.find()
