"""The addresses an annotator's page asks: the task, pages to judge, images, and where answers go."""

# Annotations are not postponed here: FastAPI could not find those that name what is made inside `routes`.
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response, Security
from starlette.concurrency import run_in_threadpool

from sightline import judging
from sightline.judging import Assignment, SubmittedAnswer, SubmittedRemark
from sightline.records import Question
from sightline.study.schema import database
from sightline.study.schema.storable import now
from sightline.web import payloads as p
from sightline.web.session import FAULTS, annotator_of, cookie_scheme, keep_pace
from sightline.web.state import State, Who

PageKey = Annotated[str, Path(min_length=32, max_length=32, pattern="^[0-9a-f]+$")]
Small = Annotated[int, Path(ge=0, le=1000)]


def routes(state: State) -> APIRouter:
    """Every address of the annotator's page."""
    known = Security(cookie_scheme(state, "annotator"))
    router = APIRouter(prefix=p.ROUTES, tags=["annotator"], responses=FAULTS, dependencies=[known])

    async def who(request: Request) -> Who:
        cookies = hash(request.headers.get("cookie"))
        if state.has_read(cookies):
            asking = annotator_of(state, request)
        else:
            # Asking the study may take long, and must not hold up everybody else.
            held = state.held
            asking = await run_in_threadpool(annotator_of, state, request)
            held[cookies] = True
        meant = request.headers.get("x-task")
        if meant is not None and meant != _task_id(state, asking):
            # Another link was opened in this browser: what waits for the first task must not be refused.
            raise HTTPException(409, "another link was opened in this browser meanwhile; open yours again")
        return asking

    Annotator = Annotated[Who, Depends(who)]

    def picture(path: str) -> Callable[..., Any]:
        return router.get(path, response_class=Response, responses=p.PICTURE)

    @router.get("/task")
    def task(annotator: Annotator) -> p.Task:
        return _task(state, annotator)

    @router.get("/work", response_model=p.Work)
    async def work(annotator: Annotator) -> Response:
        def assign(connection: Any) -> Response:
            at, who = datetime.now(UTC), (annotator.round, annotator.annotator_id)
            assigned = judging.assign(connection, *who, annotator.role, at)
            given = judging.given_answers(connection, assigned.tasks)
            return _reply(_work(connection, annotator, assigned, assigned.tasks, given))

        return await state.write(assign)

    @router.get("/pages")
    def past(
        annotator: Annotator,
        last: Annotated[int, Query(ge=1, le=100)] = 20,
        before: Annotated[int, Query(ge=1, le=2_000_000_000)] = 2_000_000_000,
    ) -> p.Work:
        return _past(state, annotator, before - 1, last)

    @router.post("/answers", response_model=p.Receipts)
    async def answers(annotator: Annotator, body: p.Answers) -> Response:
        keep_pace(state.answers, annotator.annotator_id, len(body.answers) + len(body.remarks))
        given = [SubmittedAnswer(**each.model_dump()) for each in body.answers]
        noted = [SubmittedRemark(**each.model_dump()) for each in body.remarks]

        def record(connection: Any) -> Response:
            at, who = datetime.now(UTC), (annotator.round, annotator.annotator_id)
            receipts = judging.record_answers(connection, *who, given, now()) if given else []
            receipts += judging.record_remarks(connection, *who, noted, now()) if noted else []
            assigned = judging.assign(connection, *who, annotator.role, at, only_new=True)
            work = _work(connection, annotator, assigned, assigned.tasks, ())
            return _reply(p.Receipts(receipts=receipts, progress=work.progress, pages=work.pages))

        return await state.write(record)

    @router.post("/language")
    async def language(annotator: Annotator, body: p.Language) -> p.Progress:
        chosen = body.language or None

        def change(connection: Any) -> p.Progress:
            judging.set_language(connection, annotator.annotator_id, chosen)
            return _progress(replace(annotator, language=chosen), _unassigned(connection, annotator))

        progress = await state.write(change)
        state.forget()
        return progress

    @router.get("/linked/{page}/{slot}")
    def linked(annotator: Annotator, page: PageKey, slot: Small) -> p.Linked:
        return _linked(state, annotator, page, slot)

    @picture("/images/{page}/{slot}/{n}")
    def image(annotator: Annotator, page: PageKey, slot: Small, n: Small) -> Response:
        shown = _slot(state, annotator, page, slot).shown
        alike = judging.looks_alike(annotator.settings)
        return p.image_of_task(*_picture(state, shown[n] if n < len(shown) else None, alike))

    @picture("/linked/{page}/{slot}/{k}/{n}")
    def linked_image(annotator: Annotator, page: PageKey, slot: Small, k: Small, n: Small) -> Response:
        prompts = _linked_of(state, annotator, page, slot)
        images = prompts[k][1] if k < len(prompts) else []
        # Which images are linked can change while a task stays.
        return p.image(*_picture(state, images[n] if n < len(images) else None))

    @picture("/examples/{n}")
    def example(annotator: Annotator, n: Small) -> Response:
        examples = annotator.settings.examples
        file = examples[n].image if n < len(examples) else None
        if file is None:
            raise HTTPException(404, "there is no such example")
        return p.image(*judging.blind(file.read_bytes(), file.name))

    return router


# -- the task -----------------------------------------------------------------------------------------------


def _task(state: State, who: Who) -> p.Task:
    settings = who.settings
    mode = settings.found
    with database.reading(state.study.engine) as connection:
        known = judging.languages(connection) if mode.shows_prompt else []
    return p.Task(
        task=_task_id(state, who),
        round=who.round.name,
        title=settings.title,
        layout=mode.layout,
        images=mode.images,
        questions=[p.asked(question, mode.both_bad) for question in settings.questions],
        keys=dict(mode.keys),
        instructions=mode.instructions,
        examples=[
            p.ExampleShown(
                shown=each.shown,
                answer=each.answer,
                why=each.why,
                image=None if each.image is None else f"{p.ROUTES}/examples/{number}",
            )
            for number, each in enumerate(settings.examples)
        ],
        skip_reasons=list(settings.skip_reasons),
        shows_prompt=mode.shows_prompt,
        linked=mode.linked,
        languages=[each for each in known if each in settings.languages],
        remarks=judging.offered_remarks(who.round.settings),
    )


def _task_id(state: State, who: Who) -> str:
    seal = f"task:{who.round.id}:{who.annotator_id}:".encode() + state.secret
    return hashlib.sha256(seal).hexdigest()[:16]


# -- pages --------------------------------------------------------------------------------------------------


def _work(
    connection: Any,
    who: Who,
    assigned: Assignment,
    shown: Sequence[judging.Task],
    given: Sequence[judging.Given],
) -> p.Work:
    prompts = {slot.prompt_id for page in shown for slot in page.slots} - {0}
    texts = judging.wordings(connection, prompts, who.language)
    linking = judging.linking(connection, prompts) if who.settings.found.linked else set()
    noted = judging.given_remarks(connection, who.round, shown)
    made = [_page(who, page, given, noted, texts, linking) for page in shown]
    return p.Work(progress=_progress(who, assigned), pages=made)


def _past(state: State, who: Who, before: int, most: int) -> p.Work:
    with database.reading(state.study.engine) as connection:
        shown = judging.past_tasks(connection, who.round.id, who.annotator_id, before, most)
        given = judging.given_answers(connection, shown)
        return _work(connection, who, _unassigned(connection, who), shown, given)


def _reply(made: p.Work | p.Receipts) -> Response:
    return Response(made.model_dump_json(), media_type="application/json")


def _page(
    who: Who,
    page: judging.Task,
    given: Sequence[judging.Given],
    noted: Sequence[judging.GivenRemark],
    texts: Mapping[int, judging.Wording],
    linking: set[int],
) -> p.Page:
    prompt = page.slots[0].prompt_id
    wording = texts.get(prompt) if who.settings.found.shows_prompt else None
    names = dict(who.round.questions)
    slots = []
    for slot in page.slots:
        shown = [
            p.Given(
                question=names[each.question_id].name,
                value=_as_shown(names[each.question_id], slot, each.value),
                skipped=each.skipped,
            )
            for each in given
            if (each.task_id, each.slot) == (page.id, slot.slot) and each.question_id in names
        ]
        images = [f"{p.ROUTES}/images/{page.key}/{slot.slot}/{n}" for n in range(len(slot.parts))]
        slots.append(p.Slot(slot=slot.slot, images=images, given=shown))
    return p.Page(
        page=page.key,
        number=page.ordinal + 1,
        session=page.session,
        state="open" if page.state == "lapsed" else page.state,
        prompt=None if wording is None else wording.shown,
        original=None if wording is None else wording.original,
        linked=prompt in linking,
        slots=slots,
        noted=[_noted(page, each) for each in noted if each.task_id == page.id],
    )


def _noted(page: judging.Task, each: judging.GivenRemark) -> p.Noted:
    slot = next((slot for slot in page.slots if slot.slot == each.slot), None)
    part = judging.stored_part(slot, each.part) if each.kind == "regions" else 0
    boxes = [list(map(float, box)) for box in each.boxes]
    return p.Noted(kind=each.kind, slot=each.slot, part=part, text=each.text, boxes=boxes)


def _as_shown(asked: Question, slot: judging.Slot, value: float | None) -> float | None:
    if value is None or not slot.swapped or asked.low is None or asked.high is None:
        return value
    return asked.low + asked.high - value


def _progress(who: Who, assigned: Assignment) -> p.Progress:
    standing = assigned.standing
    left = 0 if assigned.state == "finished" else max(who.most_tasks - standing.finished, 0)
    return p.Progress(
        annotator=who.name,
        language=who.language,
        pages_done=standing.finished,
        pages_left=left,
        session=max(standing.session, 1),
        session_done=standing.session_finished,
        session_pages=int(who.round.settings["session_pages"]),
        rest_until=assigned.rest_until,
        state=assigned.state,
        seconds=standing.took_ms // 1000,
    )


def _unassigned(connection: Any, who: Who) -> Assignment:
    """How far an annotator is, without new tasks."""
    standing = judging.standing(connection, who.round.id, who.annotator_id)
    return Assignment([], standing, "open" if who.round.state == "open" else "paused", None)


# -- images -------------------------------------------------------------------------------------------------


def _slot(state: State, who: Who, key: str, slot: int) -> judging.Slot:
    with database.reading(state.study.engine) as connection:
        page = judging.task_by_key(connection, who.round.id, who.annotator_id, key)
    chosen = next((each for each in page.slots if each.slot == slot), None) if page else None
    if chosen is None:
        raise HTTPException(404, "there is no such task")
    return chosen


def _picture(state: State, image_id: int | None, alike: bool = False) -> tuple[bytes, str]:
    if image_id is None:
        raise HTTPException(404, "there is no such image")
    return state.images.get(image_id, alike)


def _linked_of(state: State, who: Who, key: str, slot: int) -> list[tuple[int, list[int]]]:
    chosen = _slot(state, who, key, slot)
    if not who.settings.found.linked:
        raise HTTPException(404, "no prompts are linked here")
    with database.reading(state.study.engine) as connection:
        return judging.linked_prompts(connection, chosen.prompt_id, chosen.parts[0])


def _linked(state: State, who: Who, key: str, slot: int) -> p.Linked:
    linked = _linked_of(state, who, key, slot)
    with database.reading(state.study.engine) as connection:
        texts = judging.wordings(connection, {prompt for prompt, _ in linked}, who.language)
    return p.Linked(
        prompts=[
            p.LinkedPrompt(
                prompt=texts[prompt].shown,
                images=[f"{p.ROUTES}/linked/{key}/{slot}/{k}/{n}" for n in range(len(images))],
            )
            for k, (prompt, images) in enumerate(linked)
        ]
    )
