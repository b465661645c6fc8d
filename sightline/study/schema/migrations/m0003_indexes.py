"""An index for items that repeat others, one less for judgements; computed values are guarded in bulk."""

from __future__ import annotations

from sqlalchemy import Connection, inspect

BULK = {"score": "measure_id", "evidence": "measure_id", "prediction": "fit_id"}


def upgrade(connection: Connection) -> None:
    """Change two indexes; on PostgreSQL triggers take the place of foreign keys that it checks row by row."""
    connection.exec_driver_sql(
        "CREATE INDEX round_item_by_again ON round_item (again_of) WHERE again_of IS NOT NULL"
    )
    # The unique key of judgements begins with the annotator as well.
    connection.exec_driver_sql("DROP INDEX ix_judgement_annotator_id")
    if connection.dialect.name == "sqlite":
        return
    for table, column in BULK.items():
        for key in inspect(connection).get_foreign_keys(table):
            if key["constrained_columns"] == [column]:
                connection.exec_driver_sql(f'ALTER TABLE {table} DROP CONSTRAINT "{key["name"]}"')
