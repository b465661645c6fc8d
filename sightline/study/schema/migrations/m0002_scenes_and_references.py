"""Version 2: what is known to be in an image, and reference samples of distances."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the tables `scene` and `reference`; nothing that is there changes."""
    sqlite = connection.dialect.name == "sqlite"
    key, without = ("INTEGER", "\n WITHOUT ROWID") if sqlite else ("BIGINT", "")
    connection.exec_driver_sql(
        f"""
CREATE TABLE scene (
    image_id {key} NOT NULL,
    json JSON NOT NULL,
    source_id {key},
    PRIMARY KEY (image_id),
    FOREIGN KEY(image_id) REFERENCES image (id)
){without}
"""
    )
    connection.exec_driver_sql(
        f"""
CREATE TABLE reference (
    name TEXT NOT NULL,
    distance TEXT NOT NULL,
    squared SMALLINT NOT NULL,
    n INTEGER NOT NULL,
    json JSON NOT NULL,
    source_id {key},
    PRIMARY KEY (name)
)
"""
    )
