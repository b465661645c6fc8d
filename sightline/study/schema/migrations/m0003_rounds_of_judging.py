"""Version 3: rounds of judging with their items, pages and controls, and prompts in other languages."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add and remake the tables of annotation; no program wrote to the old ones, so nothing is lost."""
    sqlite = connection.dialect.name == "sqlite"
    key, without = ("INTEGER", "\n WITHOUT ROWID") if sqlite else ("BIGINT", "")
    serial = "INTEGER NOT NULL" if sqlite else "BIGSERIAL NOT NULL"
    number = "DOUBLE" if sqlite else "DOUBLE PRECISION"
    if not sqlite:
        connection.exec_driver_sql("ALTER TABLE judgement DROP CONSTRAINT judgement_page_id_fkey")
    for old in ("page_slot", "page", "control", "token"):
        connection.exec_driver_sql(f"DROP TABLE {old}")
    for step in _STEPS.format(key=key, without=without, serial=serial, number=number).split(";"):
        connection.exec_driver_sql(step.strip())
    if not sqlite:
        connection.exec_driver_sql(
            "ALTER TABLE judgement ADD CONSTRAINT judgement_page_id_fkey "
            "FOREIGN KEY (page_id) REFERENCES page (id)"
        )


_STEPS = """
ALTER TABLE annotator ADD COLUMN language VARCHAR(16);
ALTER TABLE annotator ADD COLUMN left_out TEXT;
CREATE TABLE translation (
    prompt_id {key} NOT NULL,
    language VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    source_id {key},
    PRIMARY KEY (prompt_id, language),
    FOREIGN KEY(prompt_id) REFERENCES prompt (id)
){without};
CREATE TABLE round (
    id {serial},
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    questions JSON NOT NULL,
    settings JSON NOT NULL,
    seed BIGINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    at VARCHAR(32) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);
CREATE TABLE token (
    hash VARCHAR(64) NOT NULL,
    annotator_id {key},
    round_id {key},
    role VARCHAR(16) NOT NULL,
    made VARCHAR(32) NOT NULL,
    expires VARCHAR(32) NOT NULL,
    revoked VARCHAR(32),
    PRIMARY KEY (hash),
    FOREIGN KEY(annotator_id) REFERENCES annotator (id),
    FOREIGN KEY(round_id) REFERENCES round (id)
);
CREATE TABLE control (
    id {serial},
    subject_id {key} NOT NULL,
    question_id {key} NOT NULL,
    kind VARCHAR(16) NOT NULL,
    expected {number} NOT NULL,
    tolerance {number} NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (subject_id, question_id, kind),
    FOREIGN KEY(subject_id) REFERENCES subject (id),
    FOREIGN KEY(question_id) REFERENCES question (id)
);
CREATE TABLE item (
    id {serial},
    round_id {key} NOT NULL,
    ordinal INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    again_of {key},
    wanted INTEGER NOT NULL,
    given INTEGER NOT NULL,
    done INTEGER NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (round_id, ordinal),
    FOREIGN KEY(round_id) REFERENCES round (id)
);
CREATE INDEX item_by_need ON item (round_id, kind, given, ordinal);
CREATE TABLE item_slot (
    item_id {key} NOT NULL,
    slot SMALLINT NOT NULL,
    subject_id {key} NOT NULL,
    control SMALLINT NOT NULL,
    PRIMARY KEY (item_id, slot),
    FOREIGN KEY(item_id) REFERENCES item (id),
    FOREIGN KEY(subject_id) REFERENCES subject (id)
){without};
CREATE INDEX ix_item_slot_subject_id ON item_slot (subject_id);
CREATE TABLE page (
    id {serial},
    key VARCHAR(32) NOT NULL,
    round_id {key} NOT NULL,
    annotator_id {key} NOT NULL,
    item_id {key} NOT NULL,
    session INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    counted SMALLINT NOT NULL,
    handed VARCHAR(32) NOT NULL,
    finished VARCHAR(32),
    took_ms INTEGER,
    PRIMARY KEY (id),
    UNIQUE (annotator_id, round_id, ordinal),
    UNIQUE (key),
    FOREIGN KEY(round_id) REFERENCES round (id),
    FOREIGN KEY(annotator_id) REFERENCES annotator (id),
    FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE INDEX ix_page_item_id ON page (item_id);
CREATE INDEX page_by_state ON page (round_id, state, handed);
CREATE TABLE page_slot (
    page_id {key} NOT NULL,
    slot SMALLINT NOT NULL,
    subject_id {key} NOT NULL,
    control SMALLINT NOT NULL,
    swapped SMALLINT NOT NULL,
    repetition INTEGER NOT NULL,
    PRIMARY KEY (page_id, slot),
    FOREIGN KEY(page_id) REFERENCES page (id),
    FOREIGN KEY(subject_id) REFERENCES subject (id)
){without};
CREATE INDEX ix_page_slot_subject_id ON page_slot (subject_id);
CREATE INDEX ix_judgement_page_id ON judgement (page_id)
"""
