"""Tags of images, detections by content, predictions of answers, notes about tasks, imported scores."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add three tables, the image to the key of predictions, and the import that scores came with."""
    sqlite = connection.dialect.name == "sqlite"
    key, number = ("INTEGER", "DOUBLE") if sqlite else ("BIGINT", "DOUBLE PRECISION")
    fresh = "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT" if sqlite else "BIGSERIAL PRIMARY KEY"
    end = ") WITHOUT ROWID" if sqlite else ")"
    for statement in (
        f"CREATE TABLE image_tag (image_id {key} NOT NULL, prompt_id {key} NOT NULL, name TEXT NOT NULL, "
        f"value TEXT NOT NULL, source_id {key}, PRIMARY KEY (image_id, prompt_id, name), "
        f"FOREIGN KEY(source_id) REFERENCES source (id){end}",
        "CREATE INDEX image_tag_by_value ON image_tag (name, value, image_id)",
        "CREATE INDEX image_tag_by_prompt ON image_tag (prompt_id) WHERE prompt_id <> 0",
        "CREATE TABLE detection (detector VARCHAR(64) NOT NULL, content VARCHAR(64) NOT NULL, "
        f"json JSON NOT NULL, PRIMARY KEY (detector, content){end}",
        f"CREATE TABLE remark (id {fresh}, key VARCHAR(32) NOT NULL, task_id {key} NOT NULL, "
        "slot SMALLINT NOT NULL, part SMALLINT NOT NULL, kind VARCHAR(16) NOT NULL, text TEXT NOT NULL, "
        f"boxes JSON NOT NULL, at VARCHAR(40) NOT NULL, source_id {key}, UNIQUE (key), "
        "FOREIGN KEY(task_id) REFERENCES task (id), FOREIGN KEY(source_id) REFERENCES source (id))",
        "CREATE INDEX ix_remark_task_id ON remark (task_id)",
        "ALTER TABLE prediction RENAME TO prediction_before",
        "DROP INDEX prediction_by_prompt",
        f"CREATE TABLE prediction (fit_id {key} NOT NULL, prompt_id {key} NOT NULL, "
        f"system_id {key} NOT NULL, image_id {key} NOT NULL, fold INTEGER, value {number}, "
        f"low {number}, high {number}, "
        "reason TEXT, PRIMARY KEY (fit_id, prompt_id, system_id, image_id), "
        "CONSTRAINT value_finite CHECK (value BETWEEN -1.7e308 AND 1.7e308), "
        f"FOREIGN KEY(fit_id) REFERENCES fit (id){end}",
        "INSERT INTO prediction (fit_id, prompt_id, system_id, image_id, fold, value, low, high, reason) "
        "SELECT fit_id, prompt_id, system_id, 0, fold, value, low, high, reason FROM prediction_before",
        "DROP TABLE prediction_before",
        "CREATE INDEX prediction_by_prompt ON prediction (prompt_id) WHERE prompt_id <> 0",
        "CREATE INDEX prediction_by_image ON prediction (image_id) WHERE image_id <> 0",
        f"ALTER TABLE score ADD COLUMN source_id {key} REFERENCES source (id)",
    ):
        connection.exec_driver_sql(statement)
