"""An index for the items that repeat others, and one less for judgements."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Let an item of a round be deleted without a search, and an annotator be found by one index of two."""
    connection.exec_driver_sql(
        "CREATE INDEX round_item_by_again ON round_item (again_of) WHERE again_of IS NOT NULL"
    )
    # The unique key of judgements begins with the annotator as well.
    connection.exec_driver_sql("DROP INDEX ix_judgement_annotator_id")
