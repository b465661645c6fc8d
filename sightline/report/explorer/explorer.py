"""The explorer of a study: pages of rows, fields with their counts, everything about one row."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlencode

import numpy as np

from sightline import registry
from sightline.errors import UsageError
from sightline.estimate import Estimate
from sightline.report.explorer import acting, exporting, images, views
from sightline.report.explorer.detail import about_row
from sightline.report.explorer.fields import AGREES, SORTS, VERDICT, Field
from sightline.report.explorer.layouts import neighbours, pairs_in_order, prompts_in_order, systems_shown
from sightline.report.explorer.snapshot import Snapshot
from sightline.report.explorer.state import ViewState, parse_state
from sightline.report.explorer.table import Column
from sightline.report.store import columns as store
from sightline.report.store import details
from sightline.report.store.columns import Ints
from sightline.skills.correcting import corrections_of
from sightline.statistics.intervals import mean_interval
from sightline.study.schema import database
from sightline.study.study import SETTINGS_FILE, Study, read_settings

FRESH_SECONDS = 2.0
"""How long what another process wrote may go unnoticed."""
MOST_ROWS = 500
MOST_VALUES = 200
MOST_DERIVED = 40
"""Fields made from two others whose counts are computed unasked."""
BINS = 20
SHOWS_VERDICTS = (f"{VERDICT}:", f"{AGREES}:")
"""Fields with which rows are shown with what their verdict rests on."""
FEW = 10
"""Prompts below which a mean is shown without an interval: it would look surer than it is."""
THUMBNAILS = "/api/view/thumbs/{sha256}.webp?size={size}"
IMAGES = "/api/view/images/{sha256}"


class Explorer:
    """One study, looked at; all that can be asked of it may be asked by several threads at once."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._lock = Lock()
        self._snapshot: Snapshot | None = None
        self._change: object = None
        self._checked = float("-inf")

    # -- the study as it is now ----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The study as it was at most FRESH_SECONDS ago."""
        held = self._snapshot
        if held is not None and time.monotonic() - self._checked < FRESH_SECONDS:
            return held
        with self._lock:
            if self._snapshot is None or time.monotonic() - self._checked >= FRESH_SECONDS:
                self._refresh()
            assert self._snapshot is not None
            return self._snapshot

    def _refresh(self) -> None:
        asked, change = time.monotonic(), store.read_change(self.study)
        if self._snapshot is None or change != self._change:
            with database.reading(self.study.engine) as connection:
                stamps = store.read_stamps(connection)
            if self._snapshot is None or stamps != self._snapshot.stamps:
                number = self._snapshot.number + 1 if self._snapshot is not None else 1
                self._snapshot = Snapshot(self.study, number, stamps, self._snapshot)
        self._change, self._checked = change, asked

    def forget(self) -> None:
        """Something was written here: look again."""
        self._checked = float("-inf")

    def warm(self) -> Thread:
        """Load every field in the background, so that the first filter need not wait for it."""

        def load() -> None:
            held = self.snapshot()
            for field in held.fields.named.values():
                if not field.derived:
                    held.fields.column(field.id)

        thread = Thread(target=load, name="explorer", daemon=True)
        thread.start()
        return thread

    def about(self) -> views.StudyView:
        """The study at a glance."""
        held = self.snapshot()
        by = Counter(dict(zip(*np.unique(held.table.rows.system, return_counts=True), strict=True)))
        systems = [
            views.SystemCount(name, held.kinds.get(name, ""), int(by.get(key, 0)))
            for key, name in held.fields.systems.items()
        ]
        settings = read_settings(self.study.home / SETTINGS_FILE)
        return views.StudyView(
            name=self.study.name,
            rows=held.size,
            prompts=int(held.prompts[0].size),
            systems=systems,
            blind_default=True,
            rounds=list(settings.get("annotate", {})),
            modes=registry.names("annotation_mode"),
            report=(self.study.home / "report.html").is_file(),
            version=str(held.number),
            verdict=f"{VERDICT}:{held.fields.verdict.spec}" if held.fields.verdict is not None else "",
        )

    # -- fields ----------------------------------------------------------------------------------------------

    def fields(self, query: str, of: Sequence[str] = (), *, counts: bool = True) -> views.FieldsView:
        """Every field, or those named, with counts over the rows that the other filters leave."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        chosen = [held.fields.field(name) for name in of] or list(held.fields.named.values())
        derived = sum(each.derived for each in chosen)
        used = {*of, *state.show, state.sort, *(name for name, _ in state.filters)}
        made = []
        for field in chosen:
            counted = counts and (not field.derived or derived <= MOST_DERIVED or field.id in used)
            made.append(_field(held, state, field, counted))
        return views.FieldsView(made)

    # -- rows ------------------------------------------------------------------------------------------------

    def rows(self, query: str, offset: int = 0, limit: int = 120) -> views.Page:
        """Some of the rows that a state leaves, in its order and layout."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        limit = min(limit, MOST_ROWS)
        if state.layout == "prompts":
            return self._prompts(held, state, offset, limit)
        if state.layout == "pair":
            return self._pairs(held, state, offset, limit)
        order = held.order(state)
        rows = self._shown(held, order[offset : offset + limit], wanted_fields(state))
        return views.Page(int(order.size), offset, str(held.number), rows)

    def keys(self, query: str) -> tuple[Snapshot, Ints]:
        """All rows that a state leaves, in its order."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        return held, held.order(state)

    def _shown(
        self,
        held: Snapshot,
        rows: Ints,
        fields: Sequence[str],
        more: Callable[[int], Mapping[str, Any]] | None = None,
    ) -> list[views.RowView]:
        """Rows as the page shows them."""
        table = held.table.rows
        prompts, shown = (_ids(part[rows]) for part in (table.prompt, table.image))
        failed = _ids(table.prompt[rows[table.failed[rows]]])
        with database.reading(self.study.engine) as connection:
            contents = details.contents(connection, shown) if shown else {}
            failures = details.failures(connection, failed) if failed else {}
            of_prompts, of_images = details.tags_of(connection, prompts, shown)
        columns = {name: held.fields.column(name) for name in fields}
        seen = self._seen(held, shown) if any(name.startswith(SHOWS_VERDICTS) for name in fields) else {}
        made = []
        for row in rows.tolist():
            prompt, image = int(table.prompt[row]), int(table.image[row])
            system, position = int(table.system[row]), int(table.position[row])
            sha256, defect = contents.get(image, (None, None))
            tags = {
                **of_prompts.get(prompt, {}), **of_images.get((image, 0), {}),
                **(of_images.get((image, prompt), {}) if prompt else {}),
            }  # fmt: skip
            made.append(
                views.RowView(
                    id=row,
                    key=held.key(row),
                    prompt_id=prompt or None,
                    prompt=held.text(prompt) if prompt else None,
                    system=held.fields.systems.get(system) if prompt else None,
                    position=position if prompt else None,
                    image_id=image or None,
                    thumb=THUMBNAILS.format(sha256=sha256, size=256) if sha256 else None,
                    full=IMAGES.format(sha256=sha256) if sha256 else None,
                    width=_whole(table.width[row]),
                    height=_whole(table.height[row]),
                    failure=failures.get((system, prompt, position)) if table.failed[row] else None,
                    defect=defect,
                    tags=tags,
                    values={name: column.value(row) for name, column in columns.items()},
                    seen=seen.get((prompt, image)),
                    **(more(row) if more else {}),
                )
            )
        return made

    def _seen(self, held: Snapshot, images: Sequence[int]) -> dict[tuple[int, int], views.SeenView]:
        """What the newest verdicts on these images rest on, by prompt and image, and what corrects them."""
        measure = held.fields.verdict
        if measure is None or not images:
            return {}
        with database.reading(self.study.engine) as connection:
            rows = details.evidence_of(connection, measure.id, images)
        corrected = corrections_of(self.study)
        return {
            (prompt, image): views.SeenView(
                verdict=str(each.get("verdict", "")),
                why=str(each.get("why", "")),
                boxes=each.get("boxes", []),
                text=each.get("text", []),
                corrected=corrected.get((prompt, image)),
            )
            for prompt, image, each in rows
            if isinstance(each, Mapping)
        }

    def _prompts(self, held: Snapshot, state: ViewState, offset: int, limit: int) -> views.Page:
        prompts, systems = prompts_in_order(held, state), systems_shown(held, state)
        kept, page = held.mask(state), prompts[offset : offset + limit].tolist()
        first: dict[tuple[int, str], tuple[int, int]] = {}
        for prompt in page:
            for row in range(*held.of_prompt(prompt)):
                name = held.fields.systems[int(held.table.rows.system[row])]
                at, samples = first.get((prompt, name), (row, 0))
                first[prompt, name] = (at, samples + 1)
        times = dict(first.values())
        wanted = np.array([at for (_, name), (at, _) in first.items() if name in systems], np.int64)

        def more(row: int) -> Mapping[str, Any]:
            return {"samples": times[row], "matches": bool(kept[row])}

        shown = {row.id: row for row in self._shown(held, wanted, wanted_fields(state), more)}
        rows = [
            views.PromptCells(
                prompt,
                held.text(prompt),
                [shown[first[prompt, name][0]] if (prompt, name) in first else None for name in systems],
            )
            for prompt in page
        ]
        return views.Page(int(prompts.size), offset, str(held.number), rows, systems)

    def _pairs(self, held: Snapshot, state: ViewState, offset: int, limit: int) -> views.Page:
        pairs = pairs_in_order(held, state)
        page = slice(offset, offset + limit)
        sides = np.concatenate([pairs.a[page], pairs.b[page]])
        shown = {row.id: row for row in self._shown(held, sides, wanted_fields(state))}
        rows = [
            views.PairCells(prompt, held.text(prompt), shown[a], shown[b], _number(difference))
            for prompt, a, b, difference in zip(*(each[page].tolist() for each in pairs), strict=True)
        ]
        return views.Page(int(pairs.prompt.size), offset, str(held.number), rows, [state.a, state.b])

    # -- one row, one prompt, one picture --------------------------------------------------------------------

    def detail(self, key: str, query: str = "", *, blind: bool = True) -> views.Detail:
        """Everything about a row, and its neighbours in a state."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        row = held.row(key)
        prompt = int(held.table.rows.prompt[row])
        siblings = np.arange(*held.of_prompt(prompt)) if prompt else np.empty(0, np.int64)
        fields = wanted_fields(state)
        shown = self._shown(held, np.array([row]), fields)[0]
        others = self._shown(held, siblings[siblings != row][:MOST_ROWS], fields)
        return about_row(self.study, held, row, shown, others, neighbours(held, state, row), blind)

    def prompt(self, prompt_id: int, query: str = "") -> views.PromptView:
        """A prompt and all answers to it, by system."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        held.text(prompt_id)
        rows = self._shown(held, np.arange(*held.of_prompt(prompt_id))[:MOST_ROWS], wanted_fields(state))
        by: dict[str, list[views.RowView]] = {}
        for row in rows:
            by.setdefault(row.system or "", []).append(row)
        with database.reading(self.study.engine) as connection:
            about = details.about_prompt(connection, prompt_id)
        return views.PromptView(about, [views.SystemRows(name, each) for name, each in by.items()])

    def thumbnail(self, sha256: str, size: int) -> images.ExplorerPicture | None:
        """A small picture of an image of this study; None where it has no such image."""
        return images.thumbnail(self.study, sha256, size)

    def image(self, sha256: str) -> images.ExplorerPicture | None:
        """An image of this study as it is; None where it has no such image."""
        return images.image(self.study, sha256)

    # -- what is done with rows ------------------------------------------------------------------------------

    def chosen(self, keys: Sequence[str] | None, state: str | None) -> tuple[Snapshot, Ints]:
        """Rows by their keys, or all that a state leaves."""
        if keys is None:
            return self.keys(state or "")
        held = self.snapshot()
        return held, np.array([held.row(key) for key in dict.fromkeys(keys)], np.int64)

    def act(
        self,
        action: str,
        keys: Sequence[str] | None,
        state: str | None,
        *,
        name: str = "",
        value: str = "",
        mode: str = "",
        per_item: int = 3,
    ) -> views.Acted:
        """Tag or untag rows, mark them as failures or not, correct verdicts, or send them to a round."""
        held, rows = self.chosen(keys, state)
        match action:
            case "tag":
                done = acting.tag(self.study, held, rows, name, value)
            case "untag":
                done = acting.untag(self.study, held, rows, name)
            case "fail":
                done = acting.tag(self.study, held, rows, acting.FAILURE, value)
            case "unfail":
                done = acting.untag(self.study, held, rows, acting.FAILURE)
            case "correct":
                done = acting.correct(self.study, held, rows, value)
            case "round":
                done = acting.send_to_round(self.study, held, rows, name, mode, per_item)
            case _:
                raise UsageError(f"{action!r} is nothing that can be done", remedy="Tag, fail or round.")
        self.forget()
        return done

    def export(self, keys: Sequence[str] | None, state: str | None, form: str) -> Iterator[bytes]:
        """Rows as a CSV, or as a ZIP with their images, part by part."""
        held, rows = self.chosen(keys, state)
        tags = [field.label for field in held.fields.named.values() if field.group == "tags"]

        def show(some: Ints) -> Sequence[views.RowView]:
            return self._shown(held, some, ())

        if form == "zip":
            return exporting.as_zip(self.study, held, rows, show, tags)
        return exporting.as_csv(held, rows, show, tags)

    # -- charts ----------------------------------------------------------------------------------------------

    def chart(self, query: str, by: str, of: str | None = None) -> views.ChartView:
        """A number by system, or the rows (and a number's mean) by system and category, over a state."""
        held, state = self.snapshot(), parse_state(query)
        held.check(state)
        field = held.fields.field(by)
        number = field if field.type == "number" else held.fields.field(of) if of else None
        if number is not None and number.type != "number":
            raise UsageError(f"{of} is no number", remedy="Name a field of type number.")
        state = state if field is number else state.without(by)
        rows = np.flatnonzero(held.mask(state) & (held.table.rows.prompt > 0))
        if field is number:
            by_system = _split(held.fields.column("system"), rows)
            groups: list[tuple[str, str | None, Ints]] = [(name, None, mine) for name, mine in by_system]
            more = 0
        else:
            column = held.fields.column(by)
            values = sorted(_split(column, rows), key=lambda each: -each[1].size)
            shown = {value for value, _ in values[:MOST_VALUES]}
            more = len(values) - len(shown)
            groups = [
                (system, value, inner)
                for system, mine in _split(held.fields.column("system"), rows)
                for value, inner in _split(column, mine)
                if value in shown
            ]
        cells = [
            views.ChartRow(
                system,
                value,
                int(mine.size),
                None if number is None else _mean(held, mine, number),
                address(_narrowed(state, system, None if value is None else (by, value))),
            )
            for system, value, mine in groups
        ]
        return views.ChartView(by, None if number is None else number.id, cells, more)


def _split(column: Column, rows: Ints) -> list[tuple[str, Ints]]:
    """The rows of each category, in the order of the categories; those without one are left out."""
    assert column.codes is not None
    if not rows.size:
        return []
    codes = column.codes[rows]
    order = np.argsort(codes, kind="stable")
    known, starts = np.unique(codes[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return [(column.names[int(code)], part) for code, part in zip(known, parts, strict=True) if code >= 0]


def _narrowed(state: ViewState, system: str, value: tuple[str, str] | None) -> ViewState:
    filters = state.filters if value is None else (*state.filters, (value[0], (value[1],)))
    return replace(state, systems=(system,), filters=tuple(sorted(filters)))


def wanted_fields(state: ViewState) -> list[str]:
    """The fields whose values are shown: those asked for, and the one sorted by."""
    return list(dict.fromkeys([*state.show, *([state.sort] if state.sort not in SORTS else [])]))


def address(state: ViewState) -> str:
    """The address of a state's grid."""
    pairs = [("q", f'"{word}"' if " " in word else word) for word in state.words]
    pairs += [("system", name) for name in state.systems] + [("is", name) for name in state.conditions]
    pairs += [(f"f.{name}", value) for name, values in state.filters for value in values]
    if state.sort != "prompt" or state.descending:
        pairs.append(("sort", f"{'-' if state.descending else ''}{state.sort}"))
    return f"/view?{urlencode(pairs)}"


def _field(held: Snapshot, state: ViewState, field: Field, counted: bool) -> views.FieldView:
    about: dict[str, Any] = {"direction": field.direction, "low": None, "high": None, "n": 0, "missing": 0}
    about |= {"id": field.id, "label": field.label, "group": field.group, "type": field.type}
    if not counted:
        return views.FieldView(**about)
    column = held.fields.column(field.id)
    kept = held.mask(state.without(field.id))
    here = kept & column.known
    n = int(np.count_nonzero(here))
    missing = int(np.count_nonzero(kept)) - n
    about |= {"n": n, "missing": missing}
    if column.numbers is None:
        values, more = _values(column, here, missing)
        return views.FieldView(**about, values=values, more=more)
    everything = column.numbers[column.known]
    if not everything.size:
        return views.FieldView(**about, bins=[])
    about |= {"low": float(everything.min()), "high": float(everything.max())}
    about["whole"] = bool(np.equal(everything, np.round(everything)).all())
    return views.FieldView(**about, bins=_bins(column.numbers[here], about["low"], about["high"]))


def _values(column: Column, here: Any, missing: int) -> tuple[list[views.ValueCount], int]:
    assert column.codes is not None
    counts = np.bincount(column.codes[here], minlength=len(column.names))
    often = np.argsort(-counts, kind="stable")
    values = [views.ValueCount(column.names[int(n)], int(counts[n])) for n in often[:MOST_VALUES]]
    if missing:
        values.append(views.ValueCount("", missing))
    return values, max(0, len(column.names) - MOST_VALUES)


def _bins(values: Any, low: float, high: float) -> list[views.Bin]:
    """Equal parts of the whole range; a single value is a bin of its own."""
    if low == high:
        return [views.Bin(low, high, int(values.size))]
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return [
        views.Bin(float(edges[n]), float(edges[n + 1]), int(count)) for n, count in enumerate(counts.tolist())
    ]


def _mean(held: Snapshot, rows: Ints, number: Field) -> Estimate:
    """The mean over prompts of the means over their rows: samples of one prompt are not independent."""
    values = held.fields.column(number.id).numbers
    assert values is not None
    known = rows[~np.isnan(values[rows])]
    if not known.size:
        return Estimate(None, n=0, reason="no value is known", direction=number.direction)
    table = held.table.rows
    # Images alone have no prompt: each stands for itself.
    unit = np.where(table.prompt[known] > 0, table.prompt[known], -table.image[known])
    _, which = np.unique(unit, return_inverse=True)
    means = np.bincount(which, values[known]) / np.bincount(which)
    made = replace(mean_interval(means), direction=number.direction)
    return (
        made if made.n >= FEW else replace(made, low=None, high=None, reason=made.reason or "too few prompts")
    )


def _ids(values: Ints) -> list[int]:
    return [int(key) for key in np.unique(values) if key > 0]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
