"""PQPP's Tables 2 to 7 as printed, every one but Table 3 on the 2,000 test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sightline.statistics.correlation import EstimateWithTest

MEASURES = ("pearson", "kendall")

# What is predicted -> its column in the published files.
COLUMNS: Mapping[str, str] = {
    "hbpp": "avg_generative_score",
    "p_at_10": "retrieval_avg_pk",
    "rr": "retrieval_avg_rr",
    "hbpp.glide": "glide_score",
    "hbpp.sdxl": "sdxl_score",
    "p_at_10.clip": "clip_pk",
    "rr.clip": "clip_rr",
    "p_at_10.blip2": "blip2_pk",
    "rr.blip2": "blip2_rr",
}


@dataclass(frozen=True)
class Predictor:
    """A row of the paper: its name there, and our measure of a prompt that is the same thing, if one is.

    Of what is `unsigned` the paper prints absolute values.
    """

    name: str
    measure: str = ""
    after: bool = False
    unsigned: bool = False


@dataclass(frozen=True)
class PrintedFigure(EstimateWithTest):
    """A figure from the page: its mark is what was printed, since no p was."""

    printed_mark: str = ""

    @property
    def mark(self) -> str:
        return self.printed_mark


@dataclass(frozen=True)
class Sheet:
    """A table of the paper: its targets with their headings, and its cells by predictor.

    `unprinted` are predictors that the paper tried without printing their row; ours is shown.
    """

    number: int
    caption: str
    targets: Mapping[str, str]
    cells: Mapping[str, str]
    unprinted: Sequence[str] = ()
    n: int = 2_000

    def printed(self, predictor: str) -> dict[str, dict[str, EstimateWithTest]]:
        """The figures of a predictor by target and measure; empty where the paper has no such row."""
        texts = iter(self.cells.get(predictor, "").split())
        if predictor not in self.cells:
            return {}
        return {target: {name: _figure(next(texts), self.n) for name in MEASURES} for target in self.targets}


PREDICTORS: Mapping[str, Predictor] = {
    each.name: each
    for each in (
        Predictor("#synsets", "synset_count"),
        Predictor("#words", "word_count"),
        Predictor("avg word length", "mean_word_length"),
        Predictor("avg #acronyms", "acronym_rate"),
        Predictor("avg #numerals", "numeral_rate"),
        Predictor("#conjunctions / #words", "conjunction_rate"),
        Predictor("#prepositions / #words", "preposition_rate"),
        Predictor("avg #proper nouns", "proper_noun_rate"),
        Predictor("edge count", "ego_edge_count", unsigned=True),
        Predictor("edge weight sum", "ego_edge_weight", unsigned=True),
        Predictor("inverse weight freq", "ego_inverse_edge_frequency", unsigned=True),
        Predictor("degree centrality", "ego_degree", unsigned=True),
        Predictor("closeness centrality", "ego_closeness", unsigned=True),
        Predictor("between centrality", "ego_betweenness", unsigned=True),
        Predictor("Page Rank", "ego_pagerank", unsigned=True),
        Predictor("Fine-tuned BERT"),
        Predictor("Fine-tuned CLIP", after=True),
        Predictor("Correlation CNN", after=True),
        Predictor("Score Variance @100", after=True, unsigned=True),
    )
}
_AVERAGES = {"hbpp": "HBPP", "p_at_10": "P@10", "rr": "RR"}
_COMPLETE = {
    "#synsets": "-0.152‡ -0.093‡ -0.141‡ -0.097‡ -0.071† -0.037†",
    "#words": "-0.136‡ -0.113‡ -0.199‡ -0.163‡ -0.069† -0.052†",
    "avg word length": "0.049 0.039† -0.116‡ -0.084‡ -0.067† -0.046†",
    "avg #acronyms": "0.010 0.004 -0.001 -0.021 0.015 0.012",
    "avg #numerals": "-0.045 -0.036 -0.065† -0.066‡ -0.018 -0.001",
    "#conjunctions / #words": "0.058† 0.045† -0.117‡ -0.097‡ -0.041 -0.040",
    "#prepositions / #words": "0.032 0.013 0.060† 0.034 0.035 0.024",
    "edge count": "0.037 0.062‡ 0.027 0.047 0.013 0.010",
    "edge weight sum": "0.030 0.057‡ 0.025 0.046† 0.018 0.004",
    "inverse weight freq": "0.090‡ 0.071‡ 0.045 0.039 0.010 0.011",
    "degree centrality": "0.027 0.005 0.008 0.030 0.028 0.001",
    "closeness centrality": "0.085‡ 0.065‡ 0.048 0.038 0.016 0.011",
    "between centrality": "0.020 0.004 0.007 0.016 0.020 0.004",
    "Page Rank": "0.086 0.064 0.049 0.040† 0.014 0.011",
    "Fine-tuned BERT": "0.568‡ 0.416‡ 0.507‡ 0.318‡ 0.262‡ 0.182‡",
    "Fine-tuned CLIP": "0.600‡ 0.448‡ 0.490‡ 0.330‡ 0.197‡ 0.129‡",
    "Correlation CNN": "0.471‡ 0.347‡ 0.327‡ 0.196‡ 0.301‡ 0.212‡",
    "Score Variance @100": "0.003 0.005 0.016 0.003 0.016 0.004",
}
# Those with a correlation above 0.1 somewhere; Table 2 prints the same values as Table 7.
_MAIN = (
    "#synsets",
    "#words",
    "#conjunctions / #words",
    "Fine-tuned BERT",
    "Fine-tuned CLIP",
    "Correlation CNN",
)
SHEETS: Sequence[Sheet] = (
    Sheet(
        2,
        "Prompt and query performance: averages over both systems",
        _AVERAGES,
        {name: _COMPLETE[name] for name in _MAIN},
    ),
    Sheet(
        4,
        "Prompt performance, each generator",
        {"hbpp.sdxl": "SDXL HBPP", "hbpp.glide": "GLIDE HBPP"},
        {
            "#synsets": "-0.115‡ -0.085‡ -0.123‡ -0.082‡",
            "#words": "-0.118‡ -0.115‡ -0.101‡ -0.092‡",
            "#conjunctions / #words": "0.037 -0.011 0.051 0.041",
            "Fine-tuned BERT": "0.252‡ 0.149‡ 0.558‡ 0.405‡",
            "Fine-tuned CLIP": "0.247‡ 0.141‡ 0.615‡ 0.461‡",
            "Correlation CNN": "0.158‡ 0.061‡ 0.505‡ 0.368‡",
        },
    ),
    Sheet(
        5,
        "Query performance: CLIP",
        {"p_at_10.clip": "CLIP P@10", "rr.clip": "CLIP RR"},
        {
            "#synsets": "-0.129‡ -0.080‡ -0.052 -0.035",
            "#words": "-0.161‡ -0.132‡ -0.054 -0.053",
            "#conjunctions / #words": "-0.086‡ -0.073‡ -0.029 -0.029",
            "Fine-tuned BERT": "0.441‡ 0.272‡ 0.218‡ 0.157‡",
            "Fine-tuned CLIP": "0.458‡ 0.299‡ 0.173‡ 0.120‡",
            "Correlation CNN": "0.314‡ 0.180‡ 0.279‡ 0.210‡",
        },
    ),
    Sheet(
        6,
        "Query performance: BLIP-2",
        {"p_at_10.blip2": "BLIP-2 P@10", "rr.blip2": "BLIP-2 RR"},
        {
            "#synsets": "-0.134‡ -0.095‡ -0.063† -0.036",
            # Positive on the page, and nowhere else: a minus sign seems to be missing.
            "#words": "-0.206‡ -0.167‡ 0.058† 0.042‡",
            "#conjunctions / #words": "-0.128‡ -0.108‡ -0.038 -0.039",
            "Fine-tuned BERT": "0.499‡ 0.317‡ 0.210‡ 0.157‡",
            "Fine-tuned CLIP": "0.457‡ 0.339‡ 0.149‡ 0.115‡",
            "Correlation CNN": "0.298‡ 0.190‡ 0.213‡ 0.160‡",
        },
    ),
    Sheet(7, "Prompt and query performance: complete", _AVERAGES, _COMPLETE, ("avg #proper nouns",)),
)
BETWEEN = Sheet(
    3,
    "Generation against retrieval: truth against truth",
    {"truth": "Correlation"},
    {
        "HBPP vs. P@10": "0.118‡ 0.082‡",
        "HBPP vs. RR": "0.070‡ 0.046†",
        "P@10 vs. RR": "0.562‡ 0.504‡",
    },
    n=6_000,
)


def _figure(text: str, n: int) -> EstimateWithTest:
    number = text.rstrip("†‡")
    return PrintedFigure(float(number), n=n, printed_mark=text.removeprefix(number))
