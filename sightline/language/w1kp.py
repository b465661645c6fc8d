"""The 56 features of a prompt that W1KP relates to variability, and the share that is keywords.

24 of syntactic complexity, 20 flags of keywords, 3 of word order, 4 psycholinguistic, 3 of WordNet, 2 norms
of embeddings. Each has a name, a group and a definition: `FEATURES` and `catalogue`. What cannot be had is
NaN, and `Extracted.missing` counts how often and why. Source: Tang et al. 2024 (W1KP), section 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline.errors import SightlineError
from sightline.language import keywords as trailing
from sightline.language import lexicon, parsing, syntax, vectors, wordnet
from sightline.language.parsing import Parser
from sightline.language.wordnet import Synset

Array = NDArray[np.float64]
Norms = Callable[[Sequence[str]], Array]
# A value, or the reason why there is none.
Outcome = float | str
T = TypeVar("T")

NO_WORD = "the prompt has no word"
FLAG = "keyword:"


class Feature(NamedTuple):
    """A column: its name, the group the paper puts it in, and what it is."""

    name: str
    group: str
    definition: str


def _ratio(name: str) -> Feature:
    above, below = (each.replace("_", " ").replace("t unit", "T-unit") for each in syntax.RATIOS[name])
    return Feature(name, "syntax", f"{above} divided by {below}; 0 where there are no {below}, as in L2SCA")


FEATURES: tuple[Feature, ...] = (
    Feature("words", "syntax", "tokens with a letter or digit"),
    Feature("sentences", "syntax", "sentences that hold a word"),
    Feature("verb_phrases", "syntax", "tensed clauses, and verbs without tense that head an S"),
    Feature("clauses", "syntax", "verb groups with a tense, imperatives, and fragments without either"),
    Feature("t_units", "syntax", "main clauses and fragments, each with what depends on it"),
    Feature("dependent_clauses", "syntax", "clauses inside another: complement, adverbial, relative"),
    Feature("complex_t_units", "syntax", "main clauses with a dependent clause"),
    Feature("coordinate_phrases", "syntax", "noun, adjective, adverb or verb phrases joined by a word"),
    Feature("complex_nominals", "syntax", "modified noun phrases, nominal clauses, gerunds as subjects"),
    *map(_ratio, syntax.RATIOS),
    Feature("yngve_depth", "syntax", "mean over words of the branches to their right, summed from the root"),
    Feature("noun_verb", "word order", "1 if a tag NN* is followed by VB*"),
    Feature("noun_verb_adverb", "word order", "1 if NN* is followed by VB* and RB*"),
    Feature("adjective_noun", "word order", "1 if JJ* is followed by NN*"),
    Feature("concreteness", "psycholinguistics", "mean rating, 1 to 5, of the words Brysbaert et al. rated"),
    Feature("honore", "psycholinguistics", "100 ln(words) / (1 - proportion of words that occur once)"),
    Feature("out_of_dictionary", "psycholinguistics", "proportion of words not among the 100,000 commonest"),
    Feature("word_frequency", "psycholinguistics", "mean Zipf frequency of the words that wordfreq knows"),
    Feature("hyponyms", "semantic relations", "mean number of senses just below a word's senses in WordNet"),
    Feature("hypernyms", "semantic relations", "mean number of senses just above a word's senses in WordNet"),
    Feature("senses", "semantic relations", "mean number of senses of a word in WordNet, merged ones once"),
    Feature("glove_norm", "embedding norm", "mean squared length of the words' GloVe vectors"),
    Feature("clip_norm", "embedding norm", "length of the prompt's CLIP embedding before it is made 1"),
    Feature("keyword_share", "keyword share", "proportion of words that belong to trailing keywords"),
)
"""All but the flags of keywords, whose names depend on the prompts: see `catalogue`."""


def catalogue(keywords: Sequence[str]) -> tuple[Feature, ...]:
    """Every column in order, with a flag for each of these keywords: 57 of them where there are 20."""
    flags = [
        Feature(f"{FLAG}{word}", "keywords", f"1 if {word!r} is a trailing keyword of the prompt")
        for word in keywords
    ]
    place = next(n for n, each in enumerate(FEATURES) if each.group == "word order")
    return (*FEATURES[:place], *flags, *FEATURES[place:])


@dataclass(frozen=True)
class Sources:
    """What the features are read from; text in place of a source says why it is not there.

    `clip` gives the length of every text's embedding; an encoder's own rows have length 1. `merged` are the
    senses of WordNet that count as one, by group.
    """

    parser: Parser | str
    concreteness: Mapping[str, float] | str
    dictionary: Collection[str] | str
    zipf: Callable[[str], float] | str
    wordnet: wordnet.WordNet | str
    glove: vectors.Glove | str
    clip: Norms | str
    merged: Mapping[Synset, int] = field(default_factory=dict)

    @classmethod
    def find(
        cls,
        *,
        concreteness: str | Path | None = None,
        glove: str | Path | None = None,
        clip: Norms | None = None,
        merged: str | Path | None = None,
    ) -> Sources:
        """What this machine has. A path that is given and wrong is an error, not a reason."""
        rated = lexicon.read_concreteness(concreteness) if concreteness else lexicon.find_concreteness()
        known = wordnet.find()
        return cls(
            parser=_or_reason(parsing.find),
            concreteness=f"no concreteness ratings are named ({lexicon.CONCRETENESS}=FILE)"
            if rated is None
            else rated,
            dictionary=_or_reason(lexicon.find_dictionary),
            zipf=_or_reason(lexicon.find_frequency),
            wordnet=f"WordNet is not here ({wordnet.VARIABLE}=FOLDER names one)" if known is None else known,
            glove=vectors.Glove(glove) if glove else _or_reason(vectors.Glove),
            clip="no CLIP encoder was asked for" if clip is None else clip,
            merged=wordnet.read_merged(merged) if merged else wordnet.find_merged(),
        )


@dataclass(frozen=True)
class Extracted:
    """The features of prompts as columns, in the order of `catalogue`.

    `missing` is feature -> reason -> number of prompts; features without a gap are not in it.
    """

    columns: dict[str, Array]
    catalogue: tuple[Feature, ...]
    keywords: tuple[str, ...]
    missing: dict[str, dict[str, int]]


def extract(
    texts: Sequence[str], *, sources: Sources | None = None, keywords: Sequence[str] | None = None
) -> Extracted:
    """All features of these prompts; flags are for `keywords`, by default the 20 that most prompts have."""
    sources = Sources.find() if sources is None else sources
    flagged = tuple(trailing.top_keywords(texts) if keywords is None else keywords)
    outcomes: dict[str, Sequence[Outcome]] = {
        **_of_parse(texts, sources.parser),
        **_of_words(texts, sources),
        **_of_wordnet(texts, sources.wordnet, sources.merged),
        "glove_norm": _glove_norms(texts, sources.glove),
        "clip_norm": _clip_norms(texts, sources.clip),
        "keyword_share": _values(texts, trailing.keyword_share, NO_WORD),
    }
    flags = [trailing.presence(text, flagged) for text in texts]
    outcomes |= {f"{FLAG}{word}": [float(row[n]) for row in flags] for n, word in enumerate(flagged)}
    listed = catalogue(flagged)
    return Extracted(
        {each.name: _column(outcomes[each.name]) for each in listed},
        listed,
        flagged,
        {each.name: reasons for each in listed if (reasons := _reasons(outcomes[each.name]))},
    )


def _of_parse(texts: Sequence[str], parser: Parser | str) -> dict[str, Sequence[Outcome]]:
    names = [each.name for each in FEATURES if each.group in ("syntax", "word order")]
    if isinstance(parser, str):
        return {name: [parser] * len(texts) for name in names}
    rows: list[dict[str, Outcome]] = []
    for tokens in parser(texts):
        tree = syntax.Tree(tokens)
        depth = syntax.yngve_depth(tree)
        if depth is None:
            rows.append(dict.fromkeys(names, NO_WORD))
            continue
        counted = syntax.units(tree)
        order = {name: float(found) for name, found in syntax.word_order(tokens).items()}
        rows.append({**counted, **syntax.ratios(counted), "yngve_depth": depth, **order})
    return {name: [row[name] for row in rows] for name in names}


def _of_words(texts: Sequence[str], sources: Sources) -> dict[str, Sequence[Outcome]]:
    known = "the frequency of no word is known"
    return {
        "concreteness": _looked_up(texts, lexicon.concreteness, sources.concreteness, "no word is rated"),
        "honore": _values(texts, lexicon.honore, "every word occurs once"),
        "out_of_dictionary": _looked_up(texts, lexicon.out_of_dictionary, sources.dictionary, NO_WORD),
        "word_frequency": _looked_up(texts, lexicon.word_frequency, sources.zipf, known),
    }


def _of_wordnet(
    texts: Sequence[str], known: wordnet.WordNet | str, merged: Mapping[wordnet.Synset, int]
) -> dict[str, Sequence[Outcome]]:
    names = lexicon.Relations._fields
    if isinstance(known, str):
        return {name: [known] * len(texts) for name in names}
    found = [lexicon.relations(text, known, merged) for text in texts]
    return {
        name: ["WordNet knows no word" if each is None else each[n] for each in found]
        for n, name in enumerate(names)
    }


def _glove_norms(texts: Sequence[str], glove: vectors.Glove | str) -> Sequence[Outcome]:
    if isinstance(glove, str):
        return [glove] * len(texts)
    split = [lexicon.spelled_words(text) for text in texts]
    squared = glove.squared_norms({word for words in split for word in words})
    known = [[squared[word] for word in words if word in squared] for words in split]
    return [sum(each) / len(each) if each else "no word has a GloVe vector" for each in known]


def _clip_norms(texts: Sequence[str], clip: Norms | str) -> Sequence[Outcome]:
    if isinstance(clip, str):
        return [clip] * len(texts)
    norms = np.asarray(clip(texts), dtype=np.float64)
    if norms.shape != (len(texts),):
        raise ValueError(f"one length per text is needed, not shape {norms.shape} for {len(texts)} texts")
    return [float(each) for each in norms]


def _looked_up(
    texts: Sequence[str], of: Callable[[str, T], float | None], source: T | str, reason: str
) -> Sequence[Outcome]:
    if isinstance(source, str):
        return [source] * len(texts)
    return _values(texts, lambda text: of(text, source), reason)


def _values(texts: Sequence[str], of: Callable[[str], float | None], reason: str) -> Sequence[Outcome]:
    values = ((text, of(text)) for text in texts)
    return [
        value if value is not None else reason if lexicon.spelled_words(text) else NO_WORD
        for text, value in values
    ]


def _column(outcomes: Sequence[Outcome]) -> Array:
    return np.array([np.nan if isinstance(each, str) else each for each in outcomes], dtype=np.float64)


def _reasons(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return dict(Counter(each for each in outcomes if isinstance(each, str)).most_common())


def _or_reason(find: Callable[[], T]) -> T | str:
    try:
        return find()
    except SightlineError as error:
        return f"{error.what}: {error.remedy}" if error.remedy else error.what
