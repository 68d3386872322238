"""The database: up to date with the models, honest about what points at what, and whole or not at all."""

from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import IntegrityError

from tests.support import PATIENCE
from toolcrib_cms.errors import CmsError
from toolcrib_cms.storage.columns import Base, Status, new_id, now
from toolcrib_cms.storage.database import Database, migrate
from toolcrib_cms.storage.models import Page, Post, Revision, Section


def page(slug: str = "about", **fields: Any) -> Page:
    return Page(id=f"page_{slug}", slug=slug, title=slug.title(), **fields)


def test_the_migrations_make_the_tables_of_the_models() -> None:
    with create_engine("sqlite://").begin() as connection:
        migrate(connection)
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        database = Database(tmp_path / "deep" / "cms.db")
        database.close()
    with Database(tmp_path / "deep" / "cms.db").transaction() as session:
        assert session.scalar(text("select version_num from alembic_version")) == "0002"


def test_what_was_written_is_there_in_the_next_transaction() -> None:
    database = Database(None)
    with database.transaction() as session:
        session.add(Post(id="post_1", slug="monstera", title="Monstera", body="...", tags=["care"], published_at=now()))
    with database.transaction() as session:
        post = session.scalars(select(Post)).one()
        assert (post.slug, post.tags, post.status, post.version) == ("monstera", ["care"], Status.DRAFT, 1)
        assert post.published_at is not None
        assert post.published_at.tzinfo is not None


def test_a_transaction_that_raises_leaves_nothing_behind() -> None:
    database = Database(None)

    def fail_half_way() -> None:
        with database.transaction() as session:
            session.add(page())
            session.flush()
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail_half_way()
    with database.transaction() as session:
        assert session.scalars(select(Page)).all() == []
        assert session.scalars(select(Revision)).all() == []


def test_slugs_are_unique_and_references_are_checked() -> None:
    database = Database(None)
    with database.transaction() as session:
        session.add(page())
    with pytest.raises(IntegrityError, match="UNIQUE"), database.transaction() as session:
        session.add(Page(id="page_other", slug="about", title="Another"))
    with pytest.raises(IntegrityError, match="FOREIGN KEY"), database.transaction() as session:
        session.add(Section(id="sec_1", page_id="page_about", template_key="nothing", place=1.0, content={}))


def test_threads_take_turns(tmp_path: Path) -> None:
    database = Database(tmp_path / "cms.db")

    def write(number: int) -> None:
        with database.transaction() as session:
            session.add(page(f"p{number}"))

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    with database.transaction() as session:
        assert len(session.scalars(select(Page)).all()) == 8
        assert sorted(session.scalars(select(Revision.change))) == list(range(1, 9))
    database.close()


def test_ids_tell_their_kind_and_differ() -> None:
    ids = {new_id("page") for _ in range(100)}
    assert len(ids) == 100
    assert all(one.startswith("page_") and len(one) == 13 for one in ids)


def test_a_database_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database, " * 100)
    with pytest.raises(CmsError, match=r"broken\.db.*cannot be used"):
        Database(broken)
    newer = Database(tmp_path / "newer.db")
    with newer.transaction() as session:
        session.execute(text("update alembic_version set version_num = '9999'"))
    newer.close()
    with pytest.raises(CmsError, match="newer") as refused:
        Database(tmp_path / "newer.db")
    assert "Move it away" in str(refused.value.hint)
