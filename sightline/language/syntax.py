"""How complex the syntax of a text is: the units and ratios of L2SCA and Yngve's depth, on dependencies.

L2SCA (Lu, International Journal of Corpus Linguistics 15, 2010) counts units with tree patterns on a
constituency parse. A dependency parse stands in for it here, and what each pattern becomes is said at
its function. Where the two must differ:

- L2SCA takes a fragment at the root (FRAG) for a T-unit, and for a clause if it holds none. Dependencies have
  no such label: here every sentence without a verb at its root is a fragment, "a cat on a mat" too, which
  CoreNLP may call a noun phrase (and L2SCA then no T-unit). Prompts are mostly such: without fragments 86 %
  of PartiPrompts have no T-unit and ratios of 0 / 0; with them the mean is 1.1 (W1KP's mean is .92).
- A T-unit is complex where it holds a dependent clause itself; by L2SCA's pattern the first of two
  coordinated T-units also counts what the second holds.
- Coordinated dependent clauses count one each; by L2SCA's pattern neither counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from sightline.language.parsing import Token

FINITE = frozenset(("MD", "VBD", "VBP", "VBZ"))
VERBAL = frozenset(("VERB", "AUX"))
SUBJECTS = frozenset(("nsubj", "nsubjpass", "csubj", "csubjpass", "expl"))
AUXILIARIES = frozenset(("aux", "auxpass"))
# Labels under which a verb without tense still heads an S of its own.
INFINITE = frozenset(("ROOT", "ccomp", "xcomp", "advcl", "csubj", "csubjpass", "pcomp", "parataxis"))
# Labels of noun phrases that lie directly inside another noun phrase.
NESTED = frozenset(("appos", "compound", "poss", "nmod", "nummod", "amod", "det", "quantmod"))
PHRASES: Mapping[str, str] = {
    "NOUN": "noun", "PROPN": "noun", "PRON": "noun", "NUM": "noun",
    "ADJ": "adjective", "ADV": "adverb", "VERB": "verb", "AUX": "verb",
}  # fmt: skip
UNITS = (
    "words", "sentences", "verb_phrases", "clauses", "t_units",
    "dependent_clauses", "complex_t_units", "coordinate_phrases", "complex_nominals",
)  # fmt: skip
# Name of a ratio -> what is counted, and by what it is divided.
RATIOS: Mapping[str, tuple[str, str]] = {
    "mean_sentence_length": ("words", "sentences"),
    "mean_t_unit_length": ("words", "t_units"),
    "mean_clause_length": ("words", "clauses"),
    "clauses_per_sentence": ("clauses", "sentences"),
    "verb_phrases_per_t_unit": ("verb_phrases", "t_units"),
    "clauses_per_t_unit": ("clauses", "t_units"),
    "dependent_clauses_per_clause": ("dependent_clauses", "clauses"),
    "dependent_clauses_per_t_unit": ("dependent_clauses", "t_units"),
    "t_units_per_sentence": ("t_units", "sentences"),
    "complex_t_units_per_t_unit": ("complex_t_units", "t_units"),
    "coordinate_phrases_per_t_unit": ("coordinate_phrases", "t_units"),
    "coordinate_phrases_per_clause": ("coordinate_phrases", "clauses"),
    "complex_nominals_per_t_unit": ("complex_nominals", "t_units"),
    "complex_nominals_per_clause": ("complex_nominals", "clauses"),
}
WORD_ORDER: Mapping[str, tuple[str, ...]] = {
    "noun_verb": ("NN", "VB"),
    "noun_verb_adverb": ("NN", "VB", "RB"),
    "adjective_noun": ("JJ", "NN"),
}


class Tree:
    """The dependency trees of a text, with the units of L2SCA as places of the tokens that head them."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.children: list[list[int]] = [[] for _ in tokens]
        for place, token in enumerate(tokens):
            if token.head != place:
                self.children[token.head].append(place)

    @cached_property
    def words(self) -> list[int]:
        """Tokens with a letter or digit; a clitic ('s, n't) is a word, as in the Treebank."""
        return [place for place, token in enumerate(self.tokens) if token.is_word]

    @cached_property
    def sentences(self) -> list[int]:
        """Sentences of the parse that hold a word."""
        return sorted({self.tokens[place].sentence for place in self.words})

    @cached_property
    def clauses(self) -> list[int]:
        """Verb groups with a tense, imperatives, and fragments that hold neither. For those and FRAG."""
        held = {self._of(each).sentence for each in self._tensed}
        return sorted(
            {*self._tensed, *(each for each in self.fragments if self._of(each).sentence not in held)}
        )

    @cached_property
    def t_units(self) -> list[int]:
        """Main clauses and fragments, each with what depends on it."""
        return sorted({*self._main, *self.fragments})

    @cached_property
    def fragments(self) -> list[int]:
        """The roots of sentences without a main clause: noun phrases, as most prompts are. For FRAG."""
        main, held = {self._of(each).sentence for each in self._main}, set(self.sentences)
        roots = [place for place, token in enumerate(self.tokens) if token.head == place]
        return [place for place in roots if self._of(place).sentence in held - main]

    @cached_property
    def _tensed(self) -> list[int]:
        """Verb groups with a tense, and imperatives.

        For S|SINV|SQ over a VP headed by MD, VBD, VBP or VBZ: verbs joined without a subject of their own are
        one clause, since they share one S; an imperative is a root in VB with neither "to" nor subject.
        """
        tensed = {self._leader(each) for each in self._predicates if self._is_finite(each)}
        return sorted(tensed)

    @cached_property
    def _main(self) -> list[int]:
        """Main clauses: the verb at the root, tensed or not, and tensed verbs coordinated with it.

        For S|SBARQ|SINV|SQ under ROOT, or after such a one outside SBAR and VP. A clause that comes first and
        bare ("it rains, he sleeps", where spaCy makes the first a complement of the second) is one too.
        """
        clauses = set(self._tensed)
        leaders = {self._leader(each) for each in self._predicates if self._is_main(each)}
        return sorted(each for each in leaders if self._of(each).label == "ROOT" or each in clauses)

    @cached_property
    def dependent_clauses(self) -> list[int]:
        """Clauses that are no T-unit's own: complement, adverbial and relative. For SBAR over a clause."""
        return sorted(set(self.clauses) - set(self.t_units))

    @cached_property
    def complex_t_units(self) -> list[int]:
        """Main clauses with a dependent clause below them and in no other. For S under ROOT over SBAR."""
        units = set(self._main)
        found = set()
        for place in self.dependent_clauses:
            above = (self._leader(each) for each in self._upwards(place))
            found |= {next((each for each in above if each in units), -1)}
        return sorted(found - {-1})

    @cached_property
    def verb_phrases(self) -> list[int]:
        """Tensed clauses, and verbs without tense that head an S: infinitives, gerunds, free participles.

        For VP under S|SINV|SQ, and the verb of an inverted question. A participle that modifies a noun ("a
        cat sitting there") lies under NP and is none; an infinitive that does is one.
        """
        found = set(self._tensed)
        for place in self._predicates:
            token = self._of(place)
            heads = token.label in INFINITE or (token.label in ("acl", "relcl") and self._has_to(place))
            if heads and self._leader(place) == place:
                found.add(place)
        return sorted(found)

    @cached_property
    def coordinate_phrases(self) -> list[int]:
        """Noun, adjective, adverb and verb phrases joined by a conjunction. For ADJP|ADVP|NP|VP over CC.

        One a chain ("red, green and blue" is one); verbs with a subject each are clauses, not phrases.
        """
        found = set()
        for place, token in enumerate(self.tokens):
            joined = [each for each in self.children[place] if self._of(each).label == "conj"]
            words = [each for each in self.children[place] if self._of(each).label == "cc"]
            kind = PHRASES.get(token.part)
            if kind and any(
                PHRASES.get(self._of(each).part) == kind and (kind != "verb" or self._shares(each))
                for each in joined
                if any(word < each for word in words)
            ):
                found.add(self._chain_top(place))
        return sorted(found)

    @cached_property
    def complex_nominals(self) -> list[int]:
        """Complex noun phrases, nominal clauses, and gerunds or infinitives as subjects.

        A noun phrase not directly inside another counts if below its head there is an adjective (JJ), a
        possessive ('s), an -ing form, a preposition, a clause, an apposition or an item of a list. A
        clause counts as a subject or complement without a conjunction or with "that" or "for", and not with
        "how", "when", "where" or "why". For NP !> NP << JJ|POS|PP|S|VBG or over NP next to NP, for SBAR
        before or in VP, and for S over VBG or TO before VP.
        """
        nouns = [place for place in range(len(self.tokens)) if self._is_complex_noun(place)]
        return sorted([*nouns, *(place for place in self.verb_phrases if self._is_nominal_clause(place))])

    def _is_complex_noun(self, place: int) -> bool:
        token = self._of(place)
        if token.part not in ("NOUN", "PROPN", "PRON") or token.label in NESTED:
            return False
        if token.label == "conj" and PHRASES.get(self._of(token.head).part) == "noun":
            return False
        return any(self._complicates(each) for each in self._below(place))

    def _complicates(self, place: int) -> bool:
        token = self._of(place)
        if token.tag in ("JJ", "POS", "VBG") or token.label in ("prep", "agent", "appos"):
            return True
        if token.label == "conj" and PHRASES.get(token.part) == "noun":
            return all(self._of(each).label != "cc" for each in self.children[token.head])
        return place in self.verb_phrases

    def _is_nominal_clause(self, place: int) -> bool:
        token = self._of(place)
        inside = [self._of(each) for each in self.children[place]]
        if place not in self._tensed:
            return token.label in ("csubj", "csubjpass") and (token.tag == "VBG" or self._has_to(place))
        if token.label not in ("ccomp", "csubj", "csubjpass") or place in self.t_units:
            return False
        marks = {each.text.lower() for each in inside if each.label == "mark"}
        return marks <= {"that", "for"} and not any(each.tag == "WRB" for each in inside)

    @cached_property
    def _predicates(self) -> list[int]:
        """Verbs that are no auxiliary of another, each with all the verbs that may share its clause."""
        return [
            place
            for place, token in enumerate(self.tokens)
            if token.part in VERBAL and token.label not in AUXILIARIES
        ]

    def _is_finite(self, place: int) -> bool:
        token = self._of(place)
        inside = [self._of(each) for each in self.children[place]]
        if token.tag in FINITE or any(each.label in AUXILIARIES and each.tag in FINITE for each in inside):
            return True
        bare = not self._has_to(place) and not any(each.label in SUBJECTS for each in inside)
        return token.label == "ROOT" and token.tag == "VB" and bare

    def _is_main(self, place: int) -> bool:
        token = self._of(place)
        if token.label == "ROOT":
            return True
        return (token.label in ("conj", "parataxis") or self._is_bare(place)) and self._is_main(token.head)

    def _is_bare(self, place: int) -> bool:
        """Whether a complement precedes its head, has its own subject and nothing that introduces it."""
        token = self._of(place)
        labels = {self._of(each).label for each in self.children[place]}
        return (
            token.label == "ccomp" and place < token.head and bool(labels & SUBJECTS) and "mark" not in labels
        )

    def _shares(self, place: int) -> bool:
        """Whether a verb is joined to another without a subject of its own."""
        token = self._of(place)
        above = self._of(token.head)
        own = any(self._of(each).label in SUBJECTS for each in self.children[place])
        joined = token.label == "conj" and above.part in VERBAL and above.label not in AUXILIARIES
        return joined and not own

    def _leader(self, place: int) -> int:
        while self._shares(place):
            place = self._of(place).head
        return place

    def _chain_top(self, place: int) -> int:
        while self._of(place).label == "conj":
            place = self._of(place).head
        return place

    def _has_to(self, place: int) -> bool:
        return any(self._of(each).tag == "TO" for each in self.children[place])

    def _of(self, place: int) -> Token:
        return self.tokens[place]

    def _upwards(self, place: int) -> Iterator[int]:
        while self._of(place).head != place:
            place = self._of(place).head
            yield place

    def _below(self, place: int) -> Iterator[int]:
        waiting = list(self.children[place])
        while waiting:
            each = waiting.pop()
            yield each
            waiting += self.children[each]


def units(tree: Tree) -> dict[str, float]:
    """L2SCA's nine counts: words, sentences, verb phrases, clauses, T-units and the four special kinds."""
    return {name: float(len(getattr(tree, name))) for name in UNITS}


def ratios(counted: Mapping[str, float], *, undefined: float = 0.0) -> dict[str, float]:
    """L2SCA's fourteen ratios of the counts.

    Where there is nothing to divide by, as in a text without a word, L2SCA prints 0, and so does this;
    `undefined` is what stands there instead.
    """
    return {
        name: counted[above] / counted[below] if counted[below] else undefined
        for name, (above, below) in RATIOS.items()
    }


def yngve_depth(tree: Tree) -> float | None:
    """Mean depth of the words, each the sum of the numbers of the branches to it; None without words.

    The branches below a node are numbered from the right, from 0. Nodes are those of the flat tree that
    dependencies make: a head next to the phrases of its dependents, punctuation left out, where Yngve's have
    every phrase of a constituency tree; so depths are smaller than on nested noun phrases.
    Source: V. H. Yngve, Proceedings of the American Philosophical Society 104 (1960).
    """
    if not tree.words:
        return None
    words = set(tree.words)
    held = dict.fromkeys(range(len(tree.tokens)), False)
    for place in words:
        held[place] = True
        held.update(dict.fromkeys(tree._upwards(place), True))
    total = 0
    waiting = [(place, 0) for place, token in enumerate(tree.tokens) if token.head == place]
    while waiting:
        place, depth = waiting.pop()
        branches = [each for each in tree.children[place] if held[each]] + ([place] if place in words else [])
        for number, each in enumerate(sorted(branches, reverse=True)):
            if each == place:
                total += depth + number
            else:
                waiting.append((each, depth + number))
    return total / len(words)


def word_order(tokens: Sequence[Token]) -> dict[str, bool]:
    """Whether tags that begin so follow each other somewhere: NN VB, NN VB RB, and JJ NN."""
    tags = [token.tag for token in tokens]
    return {name: _occurs(tags, pattern) for name, pattern in WORD_ORDER.items()}


def _occurs(tags: Sequence[str], pattern: Sequence[str]) -> bool:
    starts = range(len(tags) - len(pattern) + 1)
    return any(all(tags[at + n].startswith(each) for n, each in enumerate(pattern)) for at in starts)
