"""Posts: the blog, from draft to archive."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AliasChoices, Field
from sqlalchemy import select

from toolcrib_cms.content.markdown import excerpt_of
from toolcrib_cms.editing import new_slug
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.rows import post_details, post_row
from toolcrib_cms.storage import lookup
from toolcrib_cms.storage.columns import Status, new_id, now
from toolcrib_cms.storage.models import Post
from toolcrib_cms.store import SiteStore
from toolcrib_cms.tools.arguments import Cursor, IfVersion, Limit, PostId, Row, StatusName

Headline = Annotated[str, Field(description="Headline of the post", min_length=1, max_length=200)]
CONTENT = AliasChoices("content", "body")
FEATURED_IMAGE = AliasChoices("featuredImage", "featureImage")
Markdown = Annotated[str, Field(description="Text in Markdown", min_length=1, max_length=100_000)]
Excerpt = Annotated[str, Field(description="Short summary", max_length=300)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=40)]], Field(max_length=20)]


class PostTools:
    """The tools of the category `posts`."""

    def __init__(self, store: SiteStore) -> None:
        self._store = store

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (
            self.cms_createPost,
            self.cms_updatePost,
            self.cms_publishPost,
            self.cms_archivePost,
            self.cms_deletePost,
            self.cms_listPosts,
            self.cms_getPost,
        )

    def cms_createPost(
        self,
        title: Headline,
        content: Annotated[Markdown, Field(validation_alias=CONTENT)],
        excerpt: Excerpt = "",
        tags: Tags | None = None,
        featuredImage: Annotated[
            str | None,
            Field(description="Id or file name of an image in the library", validation_alias=FEATURED_IMAGE),
        ] = None,
        author: Annotated[str, Field(description="Who wrote it", max_length=80)] = "",
    ) -> Row:
        """Write a new blog post and save it as a draft."""
        with self._store.transaction() as session:
            made = Post(
                id=new_id("post"),
                slug=new_slug(session, Post, title, None),
                title=title,
                body=content,
                excerpt=excerpt or excerpt_of(content),
                author=author,
                tags=_clean(tags or []),
                feature_image_id=lookup.image(session, featuredImage).id if featuredImage else None,
            )
            session.add(made)
            session.flush()
            return {**post_row(made), "summary": f"Saved {title!r} as a draft. It is not public yet."}

    def cms_updatePost(
        self,
        postId: PostId,
        title: Headline | None = None,
        content: Annotated[Markdown | None, Field(validation_alias=CONTENT)] = None,
        excerpt: Excerpt | None = None,
        tags: Annotated[Tags | None, Field(description="Tags; these replace the old ones")] = None,
        featuredImage: Annotated[
            str | None, Field(description="Id of the lead image; empty removes it", validation_alias=FEATURED_IMAGE)
        ] = None,
        if_version: IfVersion | None = None,
    ) -> Row:
        """Change the headline, text, tags or lead image of a blog post."""
        with self._store.transaction() as session:
            found = lookup.post(session, postId)
            lookup.refuse_stale(found, if_version, reader="cms_getPost")
            if all(value is None for value in (title, content, excerpt, tags, featuredImage)):
                raise RefusalError(
                    "Nothing to change was given.", hint="Pass title, content, excerpt, tags or featuredImage."
                )
            if title is not None:
                found.title = title  # the address stays: links to it keep working
            if content is not None:
                found.body = content
            if excerpt is not None:
                found.excerpt = excerpt
            if tags is not None:
                found.tags = _clean(tags)
            if featuredImage is not None:
                found.feature_image_id = lookup.image(session, featuredImage).id if featuredImage else None
            session.flush()
            return {**post_row(found), "summary": f"Updated the post {found.title!r}."}

    def cms_publishPost(
        self,
        postId: PostId,
        publishedAt: Annotated[datetime | None, Field(description="Date to show; now when left out")] = None,
    ) -> Row:
        """Publish a draft blog post so that visitors can read it."""
        with self._store.transaction() as session:
            found = lookup.post(session, postId)
            if found.status == Status.PUBLISHED and publishedAt is None:
                raise RefusalError(f"{found.title!r} is public already.", hint="Nothing was changed.")
            found.status = Status.PUBLISHED
            found.published_at = publishedAt.replace(tzinfo=publishedAt.tzinfo or UTC) if publishedAt else now()
            session.flush()
            return {**post_row(found), "summary": f"{found.title!r} is public now."}

    def cms_archivePost(self, postId: PostId) -> Row:
        """Archive a blog post: visitors no longer see it, but it is kept."""
        with self._store.transaction() as session:
            found = lookup.post(session, postId)
            if found.status == Status.ARCHIVED:
                raise RefusalError(f"{found.title!r} is archived already.", hint="Nothing was changed.")
            found.status = Status.ARCHIVED
            session.flush()
            return {**post_row(found), "summary": f"{found.title!r} is archived: kept, but hidden from visitors."}

    def cms_deletePost(self, postId: PostId) -> Row:
        """Delete a blog post for good."""
        with self._store.transaction() as session:
            found = lookup.post(session, postId)
            row = {"id": found.id, "title": found.title, "slug": found.slug}
            session.delete(found)
            return {**row, "deleted": True, "summary": f"Deleted the post {found.title!r}."}

    def cms_listPosts(
        self,
        status: Annotated[StatusName | None, Field(description="Only posts with this status")] = None,
        tag: Annotated[str | None, Field(description="Only posts with this tag")] = None,
        limit: Limit = 20,
        cursor: Cursor | None = None,
    ) -> Row:
        """List blog posts with headline, date and status, newest first."""
        with self._store.transaction() as session:
            query = select(Post).order_by(Post.published_at.is_not(None), Post.published_at.desc(), Post.id)
            if status:
                query = query.where(Post.status == status)
            if tag:
                wanted = tag.strip().casefold()
                tagged = [one.id for one in session.scalars(select(Post)) if wanted in map(str.casefold, one.tags)]
                query = query.where(Post.id.in_(tagged))
            rows, after = lookup.paged(session, query, limit, cursor)
            return {"posts": [post_row(row) for row in rows], "nextCursor": after}

    def cms_getPost(self, postId: PostId) -> Row:
        """Get one blog post with its text, tags and status."""
        with self._store.transaction() as session:
            return post_details(lookup.post(session, postId))


def _clean(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
