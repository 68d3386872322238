"""Every write is kept, and can be restored."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from toolcrib_cms.errors import RefusalError
from toolcrib_cms.storage.database import Database
from toolcrib_cms.storage.models import Page, Revision, Section, SectionTemplate
from toolcrib_cms.storage.revisions import history, restore


@pytest.fixture
def database() -> Database:
    made = Database(None)
    with made.transaction() as session:
        session.add(
            SectionTemplate(
                key="text", label="Text", category="text", description="", fields={}, defaults={}, place=1.0
            )
        )
        session.add(Page(id="page_about", slug="about", title="About"))
        session.flush()
        session.add(Section(id="sec_1", page_id="page_about", template_key="text", place=1.0, content={"a": 1}))
    return made


def about(session: Session) -> Page:
    return session.scalars(select(Page).where(Page.slug == "about")).one()


def told(session: Session, item_id: str) -> list[tuple[int, str]]:
    return [(one.version, one.action) for one in history(session, item_id)]


def test_each_write_is_one_revision_and_one_version(database: Database) -> None:
    with database.transaction() as session:
        page = about(session)
        page.title = "About us"
        session.flush()
        page.meta_description = "Who we are"  # the same transaction: still one change
    with database.transaction() as session:
        assert about(session).version == 2
        assert told(session, "page_about") == [(2, "update"), (1, "create")]
        assert history(session, "page_about")[0].data["meta_description"] == "Who we are"


def test_reading_or_writing_the_same_again_is_no_change(database: Database) -> None:
    with database.transaction() as session:
        about(session).title = "About"
    with database.transaction() as session:
        assert told(session, "page_about") == [(1, "create")]


def test_an_old_revision_comes_back_as_a_new_version(database: Database) -> None:
    with database.transaction() as session:
        about(session).title = "About us"
    with database.transaction() as session:
        first = history(session, "page_about")[-1]
        assert restore(session, first.id) == ["page_about"]
    with database.transaction() as session:
        assert (about(session).title, about(session).version) == ("About", 3)
        assert told(session, "page_about")[0] == (3, "restore")


def test_a_deleted_page_comes_back_with_its_sections(database: Database) -> None:
    with database.transaction() as session:
        session.delete(about(session))
    with database.transaction() as session:
        assert session.scalars(select(Section)).all() == []
        deletion = history(session, "page_about")[0]
        assert deletion.action == "delete"
        assert restore(session, deletion.id) == ["page_about", "sec_1"]
    with database.transaction() as session:
        page = about(session)
        assert [section.content for section in page.sections] == [{"a": 1}]
        assert page.created_at.tzinfo is not None
        assert page.version == 2


def test_an_unknown_revision_is_refused(database: Database) -> None:
    with pytest.raises(RefusalError, match="no revision 99"), database.transaction() as session:
        restore(session, 99)


def test_revisions_of_one_transaction_share_its_number(database: Database) -> None:
    with database.transaction() as session:
        assert set(session.scalars(select(Revision.change))) == {1}
